#!/usr/bin/env bash
# test-long.sh runs every suite at full size and writes what came of it into
# docs/reports/test-long.txt, also when something failed.
set -euo pipefail
cd "$(dirname "$0")/.."

report=docs/reports/test-long.txt
log=$(mktemp)
trap 'rm -f "$log"' EXIT

commit() {
	local git=(git -c safe.directory='*')
	printf '%s' "$("${git[@]}" rev-parse HEAD)"
	[ -z "$("${git[@]}" status --porcelain -- . ":!$report")" ] || printf ', and changes that are not committed'
}

header() {
	echo "make test-long: every suite at full size"
	echo "result:  $result"
	echo "date:    $began"
	echo "commit:  $commit"
	echo "go:      $(go env GOVERSION) $(go env GOOS)/$(go env GOARCH), $(nproc) CPUs"
	echo "took:    $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

# suites keeps the steps, each fuzz target, the packages, and of the tests those
# that took a second or failed.
suites() {
	grep -E '^(== |ok |FAIL|--- FAIL|--- PASS: .* \(([1-9]|[0-9]{2,})[0-9.]*s\)$|[^ ]+ Fuzz[^ ]*, |fuzz: elapsed: .* total)' "$log"
}

began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
commit=$(commit)
result=passed
scripts/test.sh long 2>&1 | tee "$log" || result=FAILED

mkdir -p "$(dirname "$report")"
{
	header
	echo
	suites
} >"$report"
echo "report: $report" >&2
[ "$result" = passed ]
