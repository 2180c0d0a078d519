#!/usr/bin/env bash
# wrk.sh [URL] sends as many requests as it can with wrk (Debian and Ubuntu:
# apt-get install wrk) and prints how many passed, and how long refusals took.
#
#   TIME=10s     how long
#   CLIENTS=8    how many connections
set -euo pipefail

if ! command -v wrk >/dev/null; then
	echo "wrk.sh: there is no wrk here; on Debian and Ubuntu: apt-get install wrk" >&2
	exit 2
fi

url=${1:-http://127.0.0.1:8000/items}
here=$(dirname "$0")

wrk -t 1 -c "${CLIENTS:-8}" -d "${TIME:-10s}" -s "$here/wrk.lua" "$url" | sed -n '/^passed/,$p'
