#!/usr/bin/env bash
# wrk.sh [URL] sends as many requests as it can with wrk (Debian and Ubuntu:
# apt-get install wrk) and prints how many passed, and how long refusals took.
#
#   TIME=10s     how long
#   CLIENTS=8    how many connections
set -euo pipefail

url=${1:-http://localhost:8000/items}
here=$(dirname "$0")

wrk -t 1 -c "${CLIENTS:-8}" -d "${TIME:-10s}" -s "$here/wrk.lua" "$url" | sed -n '/^passed/,$p'
