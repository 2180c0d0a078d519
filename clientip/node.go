package clientip

import (
	"net/netip"
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// maxNodeBytes bounds the text of an address: 45 bytes at most, brackets and a
// port, and room for the zone of a peer. Zones are kept by the netip package as
// they are written, and may not be long.
const maxNodeBytes = 128

// parsePeer reads the address that the listener reports for a connection, and
// says whether it is that of a Unix socket.
func parsePeer(remoteAddr string) (peer netip.Addr, unix bool) {
	if remoteAddr == "" || remoteAddr[0] == '@' || remoteAddr[0] == '/' {
		return netip.Addr{}, true
	}
	peer, _ = parseNode(remoteAddr, isPort)
	return peer, false
}

// parseHop reads an address in a header. Zones are dropped: they are names of
// the host that wrote them. The unspecified address is nobody's.
func parseHop(s string, port func(string) bool) (netip.Addr, bool) {
	addr, ok := parseNode(s, port)
	addr = addr.WithZone("")
	return addr, ok && !addr.IsUnspecified()
}

// parseNode reads an address in one of the forms v4, v4:port, v6, [v6] and
// [v6]:port, and returns it unmapped. A v6 address with a port but without
// brackets cannot be told from an address, and is read as one.
func parseNode(s string, port func(string) bool) (netip.Addr, bool) {
	host, rest, bracketed := s, "", strings.HasPrefix(s, "[")
	switch {
	case len(s) > maxNodeBytes:
		return netip.Addr{}, false
	case bracketed:
		i := strings.IndexByte(s, ']')
		if i < 0 {
			return netip.Addr{}, false
		}
		host, rest = s[1:i], s[i+1:]
	default:
		if i := strings.IndexByte(s, ':'); i >= 0 && strings.IndexByte(s[i+1:], ':') < 0 {
			host, rest = s[:i], s[i:]
		}
	}
	if rest != "" && (rest[0] != ':' || !port(rest[1:])) {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || bracketed && addr.Is4() {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// isPort says whether s is 1 to 5 digits with a value of at most 65535.
func isPort(s string) bool {
	port := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || i == 5 {
			return false
		}
		port = 10*port + int(s[i]-'0')
	}
	return s != "" && port <= 0xffff
}

// isNodePort says whether s is a node-port of RFC 7239 section 6: a port, or
// an underscore and a name that stands for one.
func isNodePort(s string) bool {
	name, hidden := strings.CutPrefix(s, "_")
	if !hidden {
		return isPort(s)
	}
	span, rest := cutSpan(name, func(c byte) bool {
		return httpsyntax.IsAlphanumeric(c) || c == '.' || c == '_' || c == '-'
	})
	return span != "" && rest == ""
}
