package proxy

import (
	"net/netip"
	"strings"
)

// longestHost is that of a domain name with a port.
const longestHost = 255 + len(":65535")

// validHost reports whether a Host is one that everybody reads alike: a name of
// ASCII letters, digits, hyphens and underscores between single dots, or an
// address, with or without a port. HTTP/2 lets others through, and what is
// decided for one of them may be served for another.
func validHost(host string) bool {
	if len(host) > longestHost {
		return false
	}
	if strings.HasPrefix(host, "[") {
		inside, port, ok := strings.Cut(host[1:], "]")
		addr, err := netip.ParseAddr(inside)
		return ok && err == nil && addr.Is6() && addr.Zone() == "" && (port == "" || port[0] == ':' && digits(port[1:]))
	}
	name, port, has := strings.Cut(host, ":")
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

// host is the Host that is decided, and sent on. A request without one is for the
// upstream, whose name net/http writes then.
func (c *call) host() string {
	if c.in.Host == "" && c.settings.upstream != nil {
		return c.settings.upstream.Host
	}
	return c.in.Host
}
