#!/usr/bin/env bash
# suites.sh REGEXP prints a line "package name" for each test, benchmark or
# fuzz target of the workspace that matches.
set -euo pipefail
cd "$(dirname "$0")/.."

go test -list "$1" work | awk '
	/^(Test|Fuzz|Benchmark|Example)/ { name[n++] = $1; next }
	$1 == "ok" { for (i = 0; i < n; i++) print $2, name[i] }
	/^(ok|\?)[ \t]/ { n = 0; next }
	{ print > "/dev/stderr" }
'
