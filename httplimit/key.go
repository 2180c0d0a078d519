package httplimit

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/httpsyntax"
)

// Key is one part of what a rule counts by. It comes from one of the functions
// that begin with By, or from Everyone. The zero Key is refused by New.
type Key struct {
	kind string
	part func(c *call) (weir.Part, bool)
	err  *weir.FieldError // why it cannot be
}

// The kinds of parts that By cannot have.
const (
	addressKind  = "ip"
	everyoneKind = "everyone"
)

// ByIP counts by the caller's address: the network that [Config.ClientIP] cuts
// it to, an IPv4 address or an IPv6 /64 by default. An address that the resolver
// is not sure of counts like any other.
//
// A peer that has no address, as behind a Unix socket, is refused with 400,
// whatever Rule.Missing says: there is nothing left to count by, and to skip the
// rule would be a way around it. clientip's TrustUnix takes the address from the
// proxy's header instead.
func ByIP() Key {
	return Key{kind: addressKind, part: (*call).addressPart}
}

// Everyone counts all callers together, to protect what is behind.
func Everyone() Key {
	return Key{kind: everyoneKind, part: func(*call) (weir.Part, bool) {
		return weir.Text(everyoneKind, ""), true
	}}
}

// ByHeader counts by the value of one header, whose bytes count as they are.
// The value is the caller's to choose: see the package comment. It is missing
// where the header is absent or empty, and where it is there more than once:
// one of the lines may be a proxy's and the others the caller's, and nothing
// says which the application will read.
//
// Names that differ in case are one; X_Api_Key is another name than X-Api-Key.
// The kind, for logs, is "header:X-Api-Key".
func ByHeader(name string) Key {
	key := textproto.CanonicalMIMEHeaderKey(name)
	kind := "header:" + key
	return Key{kind: kind, err: checkHeader(name, key), part: func(c *call) (weir.Part, bool) {
		lines := c.request.Header[key]
		if len(lines) != 1 || lines[0] == "" {
			return weir.Part{}, false
		}
		return weir.Text(kind, lines[0]), true
	}}
}

// ByPathValue counts by the value of a wildcard of the router's pattern, as
// [http.Request.PathValue] gives it: {name} on ServeMux and on chi. It is
// missing where the pattern has no such wildcard, and also where the Middleware
// stands before the router has matched: wrap the handler, or use chi's With.
//
// Some routers leave escapes in the value (chi, where the path has any that is
// needless). One level is decoded, so that a value has one bucket however its
// letters are written. The kind is "path:name".
func ByPathValue(name string) Key {
	kind := "path:" + name
	return Key{kind: kind, err: checkKind("ByPathValue", kind), part: func(c *call) (weir.Part, bool) {
		value := c.request.PathValue(name)
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		return weir.Text(kind, value), value != ""
	}}
}

// By counts by what a function finds, such as the user that an earlier handler
// has verified. The part is missing where ok is false; an empty value is a value
// like others. The kind tells values of different sorts apart and stands in
// logs: letters, digits and :._- only, at most 64, and neither ip nor everyone. A
// panic in the function is a fault of the rule.
func By(kind string, value func(*http.Request) (value string, ok bool)) Key {
	k := Key{kind: kind, err: checkKind("By", kind), part: func(c *call) (weir.Part, bool) {
		v, ok := value(c.request)
		return weir.Text(kind, v), ok
	}}
	if value == nil && k.err == nil {
		k.err = weir.Invalid("By "+kind, "nil", "there is no function to find the value", "")
	}
	return k
}

const maxKind = 64

// checkKind refuses a kind that would not do as a label.
func checkKind(field, kind string) *weir.FieldError {
	switch kind {
	case addressKind, everyoneKind:
		return weir.Invalid(field, kind, "the kind has a meaning of its own", "choose another")
	}
	_, last, _ := strings.Cut(kind, ":")
	if kind == "" || len(kind) > maxKind || strings.HasPrefix(kind, "path:") && last == "" {
		return weir.Invalid(field, quote(kind), "a kind has 1 to 64 characters", "name what the value is, such as user")
	}
	for i := range len(kind) {
		if c := kind[i]; !httpsyntax.IsAlphanumeric(c) && strings.IndexByte(":._-", c) < 0 {
			return weir.Invalid(field, quote(kind), "a kind is letters, digits and :._-", "")
		}
	}
	return nil
}

// checkHeader refuses what no request's header can hold.
func checkHeader(name, key string) *weir.FieldError {
	switch {
	case key == "Host":
		return weir.Invalid("ByHeader", name, "net/http keeps it apart from the header", `use By("host", …) with r.Host`)
	case !httpsyntax.IsToken(name):
		return weir.Invalid("ByHeader", quote(name), "it is no name of a header", "write it like X-Api-Key")
	}
	return nil
}
