package clientip

import (
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// ConfigError is one thing that is wrong with a [Config]. The error of [New]
// joins them: errors.As finds the first, and its Unwrap() []error has them all.
type ConfigError struct {
	Field   string // the field's name in Config, such as "Trusted"
	Index   int    // which entry of a list, from 0; -1 if the field is meant
	Value   string // what the field or the entry holds
	Problem string // what is wrong, as the rest of a sentence
	Remedy  string // what to do instead
}

// Error returns the whole as one line, such as
// "clientip: Trusted 0.0.0.0/0: trusts everyone; list your proxies' networks".
func (e *ConfigError) Error() string {
	return fmt.Sprintf("clientip: %s %s: %s; %s", e.Field, e.Value, e.Problem, e.Remedy)
}

const (
	// widestIPv4Bits admits 10.0.0.0/8. Wider networks belong to nobody, and
	// 0.0.0.0/1 with 128.0.0.0/1 is 0.0.0.0/0 written otherwise.
	widestIPv4Bits = 8
	// widestIPv6Bits admits fc00::/7, the unique local addresses; 2000::/3 is
	// the whole Internet.
	widestIPv6Bits = 7
)

func (c Config) validate() error {
	return errors.Join(slices.Concat(
		c.checkTrusted(),
		c.checkHeader(),
		c.checkHops(),
		c.checkTrustAnyPeer(),
		c.checkBits(),
		c.checkNAT64(),
	)...)
}

func (c Config) checkTrusted() (errs []error) {
	for i, p := range c.Trusted {
		if problem, remedy := wrongNetwork(p); problem != "" {
			errs = append(errs, &ConfigError{"Trusted", i, p.String(), problem, remedy})
		}
	}
	if len(c.Trusted) > 0 && c.Header == "" {
		errs = append(errs, wrong("Trusted", fmt.Sprint(c.Trusted),
			"there is no Header to believe", "name the header your proxies write, or leave Trusted empty"))
	}
	return errs
}

// wrongNetwork returns what is wrong with trusting p, or "". Zones need no
// check: a netip.Prefix has none.
func wrongNetwork(p netip.Prefix) (problem, remedy string) {
	const list = "list your proxies' networks"
	switch u := unmapPrefix(p); {
	case !p.IsValid():
		return "is no network", "write it like 10.0.0.0/8 or 2001:db8::/32"
	case !u.IsValid():
		return "is wider than the IPv4-mapped ::ffff:0:0/96 it begins in", "write the IPv4 network itself"
	case u.Bits() == 0:
		return "trusts everyone", list
	case u.Addr().Is4() && u.Bits() < widestIPv4Bits:
		return fmt.Sprintf("is wider than /%d, no one operator's network", widestIPv4Bits), list
	case u.Addr().Is6() && u.Bits() < widestIPv6Bits:
		return fmt.Sprintf("is wider than /%d, no one operator's network", widestIPv6Bits), list
	}
	return "", ""
}

func (c Config) checkHeader() []error {
	believes := len(c.Trusted) > 0 || c.TrustUnix || c.TrustAnyPeer
	switch problem, remedy := wrongName(c.Header); {
	case c.Header == "" && c.TrustUnix:
		return []error{wrong("TrustUnix", "true", "there is no Header to believe", nameOne)}
	case c.Header == "":
		return nil
	case !httpsyntax.IsToken(c.Header):
		return []error{wrong("Header", strconv.Quote(c.Header), problem, remedy)}
	case problem != "":
		return []error{wrong("Header", c.Header, problem, remedy)}
	case !believes:
		return []error{wrong("Header", c.Header, "nobody is trusted to write it",
			"list your proxies' networks in Trusted, or set TrustUnix or TrustAnyPeer")}
	}
	return nil
}

const nameOne = "name exactly one header, such as X-Forwarded-For"

// wrongName returns what is wrong with believing a header of this name, or "".
func wrongName(name string) (problem, remedy string) {
	switch {
	case !httpsyntax.IsToken(name):
		return "is no header's name", nameOne
	case strings.Contains(name, "_"):
		return "has an underscore, which some servers take for a hyphen, so that a caller's header passes for the proxy's",
			"write " + canonical(strings.ReplaceAll(name, "_", "-"))
	case canonical(name) == "X-Azure-Clientip":
		return "may hold what the caller wrote into X-Forwarded-For", "use X-Azure-SocketIP"
	}
	return "", ""
}

func (c Config) checkHops() (errs []error) {
	add := func(field string, value int, problem, remedy string) {
		errs = append(errs, wrong(field, strconv.Itoa(value), problem, remedy))
	}
	problem, _ := wrongName(c.Header)
	single := problem == "" && !dialectOf(canonical(c.Header)).list
	most := c.MaxHops
	switch {
	case c.MaxHops < 0 || c.MaxHops > mostMaxHops:
		add("MaxHops", c.MaxHops, fmt.Sprintf("is outside 0 to %d", mostMaxHops), "leave it at 0 for the default")
		most = mostMaxHops
	case c.MaxHops == 0:
		most = defaultMaxHops
	}
	switch {
	case c.Hops < 0:
		add("Hops", c.Hops, "is negative", "count the proxies that append to the list, or leave it at 0 to walk")
	case c.Hops > 0 && c.Header == "":
		add("Hops", c.Hops, "there is no Header to count in", "name the header your proxies append to")
	case c.Hops > 0 && single:
		add("Hops", c.Hops, c.Header+" holds one address and no list", "leave it at 0")
	case c.Hops > most:
		add("Hops", c.Hops, fmt.Sprintf("is above MaxHops, %d", most), "raise MaxHops")
	}
	return errs
}

func (c Config) checkTrustAnyPeer() (errs []error) {
	if !c.TrustAnyPeer {
		return nil
	}
	add := func(problem, remedy string) {
		errs = append(errs, wrong("TrustAnyPeer", "true", problem, remedy))
	}
	walk := dialectOf(canonical(c.Header)).list && c.Hops == 0
	switch {
	case c.Header == "":
		add("there is no Header to believe", "name the header your proxy writes")
	case len(c.Trusted) > 0:
		add("makes Trusted say nothing", "leave out one of the two")
	case walk:
		add("leaves no networks to walk past", "set Hops, or list Trusted instead")
	}
	return errs
}

func (c Config) checkBits() (errs []error) {
	add := func(field string, bits, most int) {
		if bits < 0 || bits > most {
			errs = append(errs, wrong(field, strconv.Itoa(bits),
				fmt.Sprintf("is outside 0 to %d", most), "leave it at 0 for the default"))
		}
	}
	add("IPv4Bits", c.IPv4Bits, 32)
	add("IPv6Bits", c.IPv6Bits, 128)
	return errs
}

func (c Config) checkNAT64() (errs []error) {
	for i, p := range c.NAT64 {
		if p.Bits() != 96 || p.Addr().Is4In6() {
			errs = append(errs, &ConfigError{
				"NAT64", i, p.String(),
				"is no IPv6 /96", "give the 96 bits before the IPv4 address, like 2001:db8:64::/96",
			})
		}
	}
	return errs
}

func wrong(field, value, problem, remedy string) error {
	return &ConfigError{field, -1, value, problem, remedy}
}

// canonical returns a header's name as http.Header and its like spell it.
func canonical(name string) string {
	return textproto.CanonicalMIMEHeaderKey(name)
}
