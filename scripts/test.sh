#!/usr/bin/env bash
# test.sh [short|long] runs every suite, in the size of its tier, and goes on
# after a failure, so that one run shows all. The tests come last: what ends the
# output is what go test says of each package.
#
# The tests run with the race detector, all but those named TestFlood…,
# TestProcess… and TestAllocations…: a flood is about size, a process is a
# binary of its own, and the detector makes pools forget at random.
set -euo pipefail
cd "$(dirname "$0")/.."

without_race='^Test(Flood|Process|Allocations)'
case ${1:-short} in
short)
	fuzztime=5s
	test=(go test -timeout 10m)
	;;
long)
	fuzztime=60s
	test=(go test -timeout 60m -count=1 -v)
	export WEIR_LONG=1
	;;
*)
	echo "usage: test.sh [short|long]" >&2
	exit 2
	;;
esac

failed=()
step() { # step NAME COMMAND...
	printf '\n== %s, at %d:%02d\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
	"${@:2}" || failed+=("$1")
}

benchmarks() { # each once, so that none rots
	local packages
	packages=$(scripts/suites.sh '^Benchmark' | cut -d ' ' -f 1 | sort -u) || return
	[ -n "$packages" ] || { echo "none"; return; }
	xargs go test -run='^$' -bench=. -benchtime=1x <<<"$packages"
}

without() {
	local packages
	packages=$(scripts/suites.sh "$without_race" | cut -d ' ' -f 1 | sort -u) || return
	[ -n "$packages" ] || { echo "none"; return; }
	xargs "${test[@]}" -run "$without_race" <<<"$packages"
}

comparison() { # the peers, which stand outside the workspace, a few asks each
	(cd bench && GOWORK=off "${test[@]}" -race ./...)
}

tools() { # which stand outside the workspace too
	(cd tools && GOWORK=off "${test[@]}" ./...)
}

step lint "${MAKE:-make}" lint
step build "${MAKE:-make}" build
step benchmarks benchmarks
step fuzz scripts/fuzz.sh "$fuzztime"
step comparison comparison
step tools tools
step 'floods, processes and allocations' without
step tests "${test[@]}" -race -skip "$without_race" work

[ "${#failed[@]}" -eq 0 ] || {
	printf -v list ', %s' "${failed[@]}"
	printf '\nFAIL: %s\n' "${list:2}" >&2
	exit 1
}
