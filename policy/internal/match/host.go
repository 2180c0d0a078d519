package match

import (
	"net/netip"
	"strings"
)

// hostname cuts from a Host what is not compared: the port and a final dot. An
// IPv6 literal keeps its brackets.
func hostname(host string) string {
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		return host[:end+1]
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.TrimSuffix(host, ".")
}

// fitsHost compares a hostname with that of the pattern. Addresses are compared
// by value: one has many spellings, and each would be a way around a rule.
func (p *Pattern) fitsHost(name string) bool {
	if p.host == "" {
		return true
	}
	if p.addr.IsValid() {
		addr, ok := bracketed(name)
		return ok && addr == p.addr
	}
	return strings.EqualFold(name, p.host)
}

// bracketed reads "[2001:db8::1]". Zones mean something on one machine only.
func bracketed(name string) (netip.Addr, bool) {
	inside, opened := strings.CutPrefix(name, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !opened || !closed || strings.Contains(inside, "%") {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(inside)
	return addr, err == nil && addr.Is6()
}

// Host returns the canonical form of a Host: without port and final dot, in lower
// case, an IPv6 address in its shortest spelling. Hosts that fit the same
// patterns have the same.
func Host(host string) string {
	name := hostname(host)
	if addr, ok := bracketed(name); ok {
		return "[" + addr.String() + "]"
	}
	return strings.ToLower(name)
}
