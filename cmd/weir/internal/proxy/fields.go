package proxy

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const (
	forwardedFor   = "X-Forwarded-For"
	forwardedHost  = "X-Forwarded-Host"
	forwardedProto = "X-Forwarded-Proto"
)

// folded is the name that servers may take name for: some, CGI and its heirs
// first of all, keep fields under names in which whatever is no letter and no
// digit looks the same.
func folded(name string) string {
	if strings.IndexFunc(name, odd) < 0 {
		return name
	}
	plain := strings.Map(func(r rune) rune {
		if odd(r) {
			return '-'
		}
		return r
	}, name)
	return http.CanonicalHeaderKey(plain)
}

func odd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
}

// ours reports whether a name is one that package header writes: a caller has no
// business sending it, and an upstream might believe it.
func ours(name string) bool {
	return name == "Ratelimit" || strings.HasPrefix(name, "Ratelimit-") ||
		strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "X-Weir-")
}

// speaksOfCallers reports whether a name is one that only trusted peers may
// send.
func (s *Settings) speaksOfCallers(name string) bool {
	return name == "Forwarded" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded") || s.strip[name]
}

// strips reports whether the field may not reach the upstream.
func (s *Settings) strips(name string, trusted bool) bool {
	plain := folded(name)
	return ours(plain) || s.speaksOfCallers(plain) && (!trusted || plain != name)
}

// clean removes what may not reach the upstream. A trailer is the caller's own
// whoever sent it on.
func (s *Settings) clean(h http.Header, trusted bool) {
	for name := range h {
		if s.strips(name, trusted) {
			delete(h, name)
		}
	}
}

// forward makes out, which has lost its hop-by-hop fields, the header that the
// upstream gets for in.
func (s *Settings) forward(out http.Header, in *http.Request, trusted bool) {
	s.clean(out, trusted)
	if trusted {
		s.restore(out, in.Header)
	}
	setFor(out, in.RemoteAddr)
	setDefault(out, forwardedHost, in.Host)
	if in.TLS != nil {
		setDefault(out, forwardedProto, "https")
	} else {
		setDefault(out, forwardedProto, "http")
	}
}

// restore gives back what a trusted peer says of the caller where it was
// removed as hop-by-hop: whatever it names under Connection may be the caller's
// doing.
func (s *Settings) restore(out, in http.Header) {
	for name, lines := range in {
		if s.speaksOfCallers(name) && !s.strips(name, true) && len(out[name]) == 0 {
			out[name] = slices.Clone(lines)
		}
	}
}

// setFor appends the peer to X-Forwarded-For, and makes one line of it.
func setFor(h http.Header, remoteAddr string) {
	peer := address(remoteAddr)
	if peer == "" {
		return
	}
	if lines := h[forwardedFor]; len(lines) > 0 {
		peer = strings.Join(lines, ", ") + ", " + peer
	}
	h[forwardedFor] = []string{peer}
}

// address is that of a peer, without port, zone and IPv4-mapping; "" for one
// that has none.
func address(remoteAddr string) string {
	peer, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return ""
	}
	return peer.Addr().Unmap().WithZone("").String()
}

func setDefault(h http.Header, name, value string) {
	if len(h[name]) == 0 && value != "" {
		h[name] = []string{value}
	}
}

// undecided reports whether what follows an upgrade to one of the protocols
// would be requests again, which nobody would decide.
func undecided(upgrade []string) bool {
	for _, line := range upgrade {
		for protocol := range strings.SplitSeq(line, ",") {
			name := strings.ToLower(strings.Trim(protocol, " \t"))
			if strings.HasPrefix(name, "h2") || strings.HasPrefix(name, "http") || strings.HasPrefix(name, "tls") {
				return true
			}
		}
	}
	return false
}
