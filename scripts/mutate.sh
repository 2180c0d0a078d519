#!/usr/bin/env bash
# mutate.sh [FLAGS] [PACKAGE...] changes the packages of tools/mutate/packages.txt,
# or those named, in small ways, one at a time, and lists the changes that no
# test has failed on. A whole run of all packages leaves its report in
# docs/reports/mutation.txt; one that was ended goes on where it was when it is
# run again. With -h it names its flags.
set -euo pipefail
cd "$(dirname "$0")/.."

unset WEIR_LONG # a mutant has the small sizes
mutate=$(scripts/tool.sh mutate)
mkdir -p dist
exec "$mutate" -command "scripts/mutate.sh${*:+ $*}" -report docs/reports/mutation.txt -json dist/mutation.json "$@"
