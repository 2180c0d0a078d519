#!/usr/bin/env bash
# deps.sh installs what the tests need beside Go: on Debian and Ubuntu by
# apt-get, as root or with sudo. Elsewhere it names what is missing and stops.
# It does nothing, and says nothing, when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
	printf 'deps: %s\n' "$*" >&2
	exit 1
}

# The race detector links with C: a compiler without the headers is not enough.
has_headers() { echo '#include <stdlib.h>' | gcc -fsyntax-only -x c - 2>/dev/null; }

has_certificates() { [ -s /etc/ssl/certs/ca-certificates.crt ]; }

# missing prints the Debian package of each thing that is not here.
missing() {
	local name
	for name in gcc git make curl hey wrk; do
		command -v "$name" >/dev/null || echo "$name"
	done
	has_headers || echo libc6-dev
	if command -v apt-get >/dev/null; then
		has_certificates || echo ca-certificates
	fi
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "installing needs root, and there is no sudo; as root: apt-get install ${packages[*]}"
	fi
}

command -v go >/dev/null || die "no go command in PATH; Go 1.26 or newer is needed"
go list -m >/dev/null || die "this Go cannot read the workspace; Go 1.26 or newer is needed"

mapfile -t packages < <(missing)
[ "${#packages[@]}" -gt 0 ] || exit 0

command -v apt-get >/dev/null ||
	die "missing: ${packages[*]} (Debian's names); this system has no apt-get, please install them by its own means"

echo "deps: installing ${packages[*]}"
as_root apt-get update -qq
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"

mapfile -t packages < <(missing)
[ "${#packages[@]}" -eq 0 ] || die "still missing: ${packages[*]}"
