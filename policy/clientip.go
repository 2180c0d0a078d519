package policy

import (
	"cmp"
	"errors"
	"net/textproto"
	"strings"

	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/internal/httpsyntax"
)

// clientIP compiles whom to believe about callers' addresses.
func (c *compiler) clientIP() {
	from := c.config.ClientIP
	c.trustedHeaderNames()
	const most = 256 // what Hops may be, and more than any chain has
	to := clientip.Config{
		Trusted:   from.TrustedProxies,
		Header:    from.Header,
		Hops:      from.Hops,
		TrustUnix: from.Unix == UnixTrust,
		IPv4Bits:  from.IPv4Prefix,
		IPv6Bits:  from.IPv6Prefix,
		NAT64:     from.NAT64,
	}
	if to.Hops > 0 {
		to.MaxHops = max(to.Hops, most)
	}
	if from.Header != "" && httpsyntax.IsToken(from.Header) && strings.ContainsFunc(from.Header, oddInHeader) && !strings.Contains(from.Header, "_") {
		c.refuse("bad-header", "client_ip.header", Span{}, "header "+from.Header+": some servers take other characters for a hyphen, so that a caller's header passes for the proxy's", "use letters, digits and hyphens, such as X-Real-IP")
	}
	resolver, err := clientip.New(to)
	for _, each := range joinedErrors(err) {
		c.refuseClientIP(each)
	}
	c.policy.resolver = cmp.Or(resolver, &clientip.Resolver{})
}

// refuseClientIP notes an error of package clientip under the field of the rules
// file, in the rules file's words.
func (c *compiler) refuseClientIP(err error) {
	e, ok := errors.AsType[*clientip.ConfigError](err)
	if !ok {
		c.refuse("bad-client-ip", "client_ip", Span{}, err.Error(), "")
		return
	}
	name := map[string]string{
		"Trusted": "trusted_proxies", "Header": "header", "Hops": "hops", "MaxHops": "hops",
		"TrustUnix": "unix", "IPv4Bits": "ipv4_prefix", "IPv6Bits": "ipv6_prefix", "NAT64": "nat64",
	}[e.Field]
	path := member("client_ip", name)
	message := path + " " + e.Value + ": " + e.Problem
	if e.Index >= 0 {
		path = element(path, e.Index)
		message = "network " + e.Value + " " + e.Problem
	}
	words := strings.NewReplacer(
		"in Trusted, or set TrustUnix or TrustAnyPeer", "in trusted_proxies, or write `unix: trust`",
		"leave Trusted empty", "leave trusted_proxies out",
		"or list Trusted instead", "or list trusted_proxies instead",
		"leave it at 0 to walk", "leave it out",
		"leave it at 0 for the default", "leave it out",
		"leave it at 0", "leave it out",
		"no Header to", "no header to",
	)
	c.refuse("bad-client-ip", path, Span{}, words.Replace(message), words.Replace(e.Remedy))
}

// canonicalHeader is a header's name as http.Header spells it.
func canonicalHeader(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }
