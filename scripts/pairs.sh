#!/usr/bin/env bash
# pairs.sh [PAIRS] times a handler without and with the middleware in turn, and
# prints the least, the median and the most that the middleware adds.
set -euo pipefail
cd "$(dirname "$0")/.."

pairs=${1:-15}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/httplimit.test" ./httplimit

nanoseconds() { # nanoseconds bare|limited
	"$dir/httplimit.test" -test.run='^$' -test.bench="^BenchmarkHandler\$/^$1\$" -test.benchtime=300ms |
		awk '/^Benchmark/ { print $3 }'
}

for ((i = 0; i < pairs; i++)); do
	bare=$(nanoseconds bare)
	limited=$(nanoseconds limited)
	awk -v a="$bare" -v b="$limited" 'BEGIN { print b - a, a, b }'
done | sort -n | awk '
	{ added[NR] = $1 }
	END { printf "added by the middleware, %d pairs: least %.0f ns, median %.0f ns, most %.0f ns\n", NR, added[1], added[int((NR + 1) / 2)], added[NR] }
'
