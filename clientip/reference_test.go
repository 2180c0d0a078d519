package clientip

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A reference reads headers slowly and plainly, all of them, from the left, by
// the grammars of the standards written as regular expressions. It shares
// nothing with the code it checks.
type reference struct {
	element, param, pair, escape, v4port, v6port, brackets, viewer, port, nodePort *regexp.Regexp
}

func newReference() reference {
	const (
		token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
		text  = `[^\x00-\x08\x0a-\x1f"\\\x7f]`
		quote = `"((?:` + text + `|\\(?:` + text + `|["\\]))*)"`
		open  = `(?:[^"\\]|\\.)*`
	)
	return reference{
		element:  regexp.MustCompile(`(?s)^(?:[^",]|"` + open + `")*`),
		param:    regexp.MustCompile(`(?s)^(?:[^";]|"` + open + `")*`),
		pair:     regexp.MustCompile(`^(` + token + `)=(?:(` + "[][:!#$%&'*+.^_`|~0-9A-Za-z-]+" + `)|` + quote + `)$`),
		escape:   regexp.MustCompile(`(?s)\\(.)`),
		v4port:   regexp.MustCompile(`(?s)^([^:]*):([^:]*)$`),
		v6port:   regexp.MustCompile(`(?s)^\[([^]]*:[^]]*)\]:(.*)$`),
		brackets: regexp.MustCompile(`(?s)^\[([^]]*:[^]]*)\]$`),
		viewer:   regexp.MustCompile(`(?s)^(.*):([^:]*)$`),
		port:     regexp.MustCompile(`^[0-9]{1,5}$`),
		nodePort: regexp.MustCompile(`^_[A-Za-z0-9._-]+$`),
	}
}

// split cuts s at each sep, as pieces tells them apart. A piece with a string
// that does not end is the last.
func split(s string, piece *regexp.Regexp, sep byte) []string {
	var list []string
	for {
		n := len(piece.FindString(s))
		if n == len(s) || s[n] != sep {
			return append(list, s)
		}
		list = append(list, s[:n])
		s = s[n+1:]
	}
}

// members returns what is in the list, trimmed, without the empty ones.
func members(list []string) []string {
	var got []string
	for _, s := range list {
		if s = strings.Trim(s, " \t"); s != "" {
			got = append(got, s)
		}
	}
	return got
}

// hops returns the address in each element, from the left; the zero Addr is
// that of an element without one.
func (ref reference) hops(header string, lines []string) []netip.Addr {
	var hops []netip.Addr
	for _, line := range lines {
		if header == "Forwarded" {
			for _, e := range members(split(line, ref.element, ',')) {
				hops = append(hops, ref.forwarded(e))
			}
			continue
		}
		for _, e := range members(strings.Split(line, ",")) {
			hops = append(hops, ref.node(e, false))
		}
	}
	return hops
}

// forwarded returns the address in one element of Forwarded.
func (ref reference) forwarded(element string) netip.Addr {
	params := map[string]string{}
	for _, p := range members(split(element, ref.param, ';')) {
		m := ref.pair.FindStringSubmatch(p)
		if m == nil {
			return netip.Addr{}
		}
		name := strings.ToLower(m[1])
		if _, twice := params[name]; twice {
			return netip.Addr{}
		}
		params[name] = m[2] + ref.escape.ReplaceAllString(m[3], "$1")
	}
	if len(params) > maxParams {
		return netip.Addr{}
	}
	return ref.node(params["for"], true)
}

// node returns the address in s, with a port that may be a name if hidden.
func (ref reference) node(s string, hidden bool) netip.Addr {
	return plain(ref.host(s, hidden))
}

// host returns what is left of s without brackets and port, or "".
func (ref reference) host(s string, hidden bool) string {
	host, port := s, "0"
	if m := ref.v4port.FindStringSubmatch(s); m != nil {
		host, port = m[1], m[2]
	} else if m := ref.v6port.FindStringSubmatch(s); m != nil {
		host, port = m[1], m[2]
	} else if m := ref.brackets.FindStringSubmatch(s); m != nil {
		host = m[1]
	}
	if len(s) <= maxNodeBytes && (ref.isPort(port) || hidden && ref.nodePort.MatchString(port)) {
		return host
	}
	return ""
}

func (ref reference) isPort(s string) bool {
	n, _ := strconv.Atoi(s)
	return ref.port.MatchString(s) && n <= 65535
}

// plain returns the address that s is, unmapped and without a zone.
func plain(s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Unmap().IsUnspecified() || a.WithZone("").IsUnspecified() {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// peer returns the address of a peer, which keeps its zone.
func (ref reference) peer(remoteAddr string) netip.Addr {
	a, _ := netip.ParseAddr(ref.host(remoteAddr, false))
	return a.Unmap()
}

// answer is what the header gives from a peer that is believed.
func (ref reference) answer(c Config, peer netip.Addr, lines []string) Answer {
	switch {
	case c.Header != "X-Forwarded-For" && c.Header != "Forwarded":
		return ref.only(c, peer, lines)
	case c.Hops > 0:
		return ref.count(peer, c.Trusted, ref.hops(c.Header, lines), c.Hops)
	case c.MaxHops > 0:
		return ref.walk(peer, c.Trusted, ref.hops(c.Header, lines), c.MaxHops)
	}
	return ref.walk(peer, c.Trusted, ref.hops(c.Header, lines), 32)
}

// only is answer for a header with one address.
func (ref reference) only(c Config, peer netip.Addr, lines []string) Answer {
	value := strings.Trim(lines[0], " \t")
	if len(lines) > 1 || strings.Contains(value, ",") {
		return Answer{Addr: peer, Reason: Duplicate}
	}
	if value == "" {
		return Answer{Addr: peer, Reason: Missing}
	}
	if c.Header == "Cloudfront-Viewer-Address" {
		m := ref.viewer.FindStringSubmatch(value)
		if m == nil || !ref.isPort(m[2]) || strings.Count(m[1], ":") == 1 || strings.Contains(m[1], "]:") { // a second port
			return Answer{Addr: peer, Reason: InvalidHop}
		}
		value = m[1]
	}
	return ref.count(peer, c.Trusted, []netip.Addr{ref.node(value, false)}, 1)
}

// walk returns the answer for a list header from a trusted peer with address
// peer, by the plain rule: the last hop that is not trusted, if all after it
// are.
func (ref reference) walk(peer netip.Addr, trusted []netip.Prefix, hops []netip.Addr, most int) Answer {
	for i, hop := range slices.Backward(hops) {
		switch {
		case len(hops)-i > most:
			return Answer{Addr: peer, Reason: TooManyHops}
		case !hop.IsValid():
			return Answer{Addr: peer, Reason: InvalidHop}
		case !within(trusted, hop):
			return Answer{Addr: hop, Sure: true}
		}
	}
	return Answer{Addr: peer, Reason: NoUntrustedHop}
}

// count is walk for a count of hops.
func (ref reference) count(peer netip.Addr, trusted []netip.Prefix, hops []netip.Addr, n int) Answer {
	switch {
	case len(hops) < n:
		return Answer{Addr: peer, Reason: TooFewHops}
	case !hops[len(hops)-n].IsValid():
		return Answer{Addr: peer, Reason: InvalidHop}
	case within(trusted, hops[len(hops)-n]):
		return Answer{Addr: peer, Reason: NoUntrustedHop}
	}
	return Answer{Addr: hops[len(hops)-n], Sure: true}
}

// within says whether a, without its zone, is in one of the networks.
func within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool {
		return p.Contains(a.WithZone(""))
	})
}
