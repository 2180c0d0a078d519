#!/usr/bin/env bash
# fuzz.sh TIME [REGEXP] fuzzes each target of the workspace, or those that
# match, for that time. Go asks for one target at a time.
set -euo pipefail
cd "$(dirname "$0")/.."

time=$1
pattern=${2:-.}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A new input is made smaller for up to a minute unless told otherwise, which is
# more than a quick run has.
run() { # run PACKAGE TARGET
	go test -run='^$' -fuzz="^$2\$" -fuzztime="$time" -fuzzminimizetime=20x -parallel=2 "$1" >"$log" 2>&1
}

# Until Go 1.27 a run may end, having found nothing, with a bare "context
# deadline exceeded" when its time is up (go.dev/issue/75804).
deadline_only() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input written' "$log"
}

fuzz() { # fuzz PACKAGE TARGET
	local status=0
	printf '%s %s, %s\n' "$1" "$2" "$time"
	run "$1" "$2" || status=$?
	if [ "$status" -ne 0 ] && deadline_only; then
		echo "$2: its time was up before it could say that it found nothing; once more"
		status=0
		run "$1" "$2" || status=$?
	fi
	cat "$log"
	return "$status"
}

# unlisted prints the targets in the source that go test does not list, because
# a build constraint hides them: they would pass unseen.
unlisted() { # unlisted SUITES
	local name
	grep -rhoE --include='*_test.go' --exclude-dir={bench,tools,testdata} '^func Fuzz[A-Za-z0-9_]*' . |
		while read -r _ name; do
			grep -q " $name\$" <<<"$1" || echo "$name"
		done
}

suites=$(scripts/suites.sh '^Fuzz')
status=0
for name in $(unlisted "$suites"); do
	echo "fuzz: $name is in the source, but go test does not list it" >&2
	status=1
done
chosen=$(grep -E " .*($pattern)" <<<"$suites" || true)
if [ -z "$chosen" ]; then
	echo "fuzz: warning: no fuzz target found" >&2
	exit "$status"
fi
while read -r package target; do
	fuzz "$package" "$target" </dev/null || status=1
done <<<"$chosen"
exit "$status"
