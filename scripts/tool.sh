#!/usr/bin/env bash
# tool.sh NAME prints the path of a tool of tools/go.mod, which is built when it
# is not in Go's build cache.
set -euo pipefail
cd "$(dirname "$0")/../tools"

GOWORK=off exec go tool -n "$1"
