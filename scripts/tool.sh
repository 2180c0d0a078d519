#!/usr/bin/env bash
# tool.sh NAME prints the path of a tool of tools/go.mod, which is built when it
# is not in Go's build cache. Its many downloads are not worth a line each.
set -euo pipefail
cd "$(dirname "$0")/../tools"

GOWORK=off go tool -n "$1" 2> >(grep -v '^go: downloading' >&2)
