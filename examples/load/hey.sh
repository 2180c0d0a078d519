#!/usr/bin/env bash
# hey.sh [URL] sends requests with hey (Debian and Ubuntu: apt-get install hey)
# and prints how many passed.
#
#   TIME=10s     how long
#   CLIENTS=4    how many at once, each on a connection of its own
#   RATE=25      requests a second of each
set -euo pipefail

if ! command -v hey >/dev/null; then
	echo "hey.sh: there is no hey here; on Debian and Ubuntu: apt-get install hey" >&2
	exit 2
fi

url=${1:-http://127.0.0.1:8000/items}
time=${TIME:-10s} clients=${CLIENTS:-4} rate=${RATE:-25}

echo "$clients clients, $rate a second each, for $time: $url"
hey -z "$time" -c "$clients" -q "$rate" "$url" |
	awk '/Status code distribution/ { on = 1; next } on && NF { print "  " $1, $2 } on && !NF { exit }'
