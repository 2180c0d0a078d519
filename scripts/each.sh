#!/usr/bin/env bash
# each.sh COMMAND... runs a command in the folder of each module of the
# workspace, and of bench and tools, which stand outside it, as if the module
# stood alone. It goes on after a failure and tells of it at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=$(go list -m -f '{{.Path}} {{.Dir}}')$'\n'"github.com/weirhq/weir/bench $PWD/bench"
modules+=$'\n'"github.com/weirhq/weir/tools $PWD/tools"
status=0
while read -r path dir; do
	echo "$path"
	(cd "$dir" && GOWORK=off "$@") </dev/null || status=1
done <<<"$modules"
exit "$status"
