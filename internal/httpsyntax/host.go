package httpsyntax

import (
	"net/netip"
	"strings"
)

// longestHost is that of a domain name with a port.
const longestHost = 255 + len(":65535")

// IsHost reports whether s is a Host that everybody reads alike: a name of
// ASCII letters, digits, hyphens and underscores between single dots, or an
// address, with or without a port. HTTP/2 lets others through, and what is
// decided for one of them may be served for another.
func IsHost(s string) bool {
	if len(s) > longestHost {
		return false
	}
	if strings.HasPrefix(s, "[") {
		inside, port, ok := strings.Cut(s[1:], "]")
		addr, err := netip.ParseAddr(inside)
		return ok && err == nil && addr.Is6() && addr.Zone() == "" && (port == "" || port[0] == ':' && digits(port[1:]))
	}
	name, port, has := strings.Cut(s, ":")
	if has && !digits(port) {
		return false
	}
	name = strings.TrimSuffix(name, ".")
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.ContainsFunc(label, notInLabel) {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func notInLabel(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
