package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/httplimit"
)

// The tests here are named for mistakes that others made: R for one that shows
// when the library is run, S for one that has an advisory. Package clientip has
// those about addresses alone; here a request goes all the way.

// identityHeaders are names under which a caller's identity travels.
func identityHeaders() []string {
	return []string{
		"X-Forwarded-For", "Forwarded", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip",
		"Fly-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Azure-Socketip", "X-Envoy-External-Address",
		"X-Original-Forwarded-For", "Cloudfront-Viewer-Address", "X-Forwarded", "X-User-Id", "Client-Ip",
	}
}

// behindProxy makes a rig of once by address, where 10.0.0.0/8 is trusted to
// write a header.
func behindProxy(t *testing.T, name string, hops int) *rig {
	t.Helper()
	resolver, err := clientip.New(clientip.Config{
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: name, Hops: hops,
	})
	if err != nil {
		t.Fatal(err)
	}
	return rigged(t, httplimit.Config{Rules: []httplimit.Rule{once()}, ClientIP: resolver})
}

func proxied(headers ...string) *http.Request { return from("10.0.0.1:1", "GET", "/", headers...) }

// oneBucket checks that requests, after the first, are all refused.
func oneBucket(t *testing.T, g *rig, n int, request func(i int) *http.Request) {
	t.Helper()
	g.expect(request(0), ok)
	for i := 1; i < n; i++ {
		g.expect(request(i), limited)
	}
}

func TestR30MappedClientsDoNotShareOneBucket(t *testing.T) {
	g := ruled(t, once())
	g.expect(from("[::ffff:203.0.113.7]:1", "GET", "/"), ok, limited)
	g.expect(from("203.0.113.7:1", "GET", "/"), limited)
	g.expect(from("[::ffff:198.51.100.9]:1", "GET", "/"), ok, limited)
}

func TestR31SpoofedTrueClientIPIsNotAKey(t *testing.T) {
	g := behindProxy(t, "True-Client-IP", 0)
	oneBucket(t, g, 20, func(i int) *http.Request {
		return from("192.0.2.1:1", "GET", "/", fmt.Sprint("True-Client-IP: 203.0.113.", i))
	})
}

// httprate v0.16.1, JoinKeys, and tollbooth v8.0.1, LimitByKeys.
func TestR32R33PartsAreNotJoinedByADelimiter(t *testing.T) {
	pairs := [][2]string{{"a:b", "c"}, {"a", "b:c"}, {"a|b", "c"}, {"a", "b|c"}, {"a", "b"}, {"ab", "x"}, {"a", "bx"}, {"a,b", "c"}, {"a", "b,c"}}
	g := ruled(t, once(httplimit.ByHeader("A"), httplimit.ByHeader("B")))
	for _, p := range pairs {
		g.expect(get("/", "A: "+p[0], "B: "+p[1]), ok, limited)
	}
}

// tollbooth v8.0.1 let all of them through.
func TestR34AbsentOrEmptyHeaderDoesNotSkipTheLimiter(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	headers := [][]string{nil, {"X-Forwarded-For: "}, {"X-Forwarded-For: ,"}, {"X-Forwarded-For: unknown"}}
	oneBucket(t, g, len(headers), func(i int) *http.Request { return proxied(headers[i]...) })
	oneBucket(t, g, 10, func(int) *http.Request { return proxied("X-Forwarded-For: 203.0.113.7, ") })
}

func TestR35VaryingPortIsNotANewCaller(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	oneBucket(t, g, 100, func(i int) *http.Request { return proxied(fmt.Sprint("X-Forwarded-For: 203.0.113.7:", 1000+i)) })
}

func TestR35TooFewHopsIsThePeer(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 2)
	oneBucket(t, g, 100, func(i int) *http.Request { return proxied(fmt.Sprint("X-Forwarded-For: 203.0.113.", i)) })
}

func TestR37ZonesAndBracketsAreNotPartOfAKey(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	spellings := []string{"2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443", "2001:DB8:0:0::2", "2001:db8::ffff:1"}
	oneBucket(t, g, len(spellings), func(i int) *http.Request { return proxied("X-Forwarded-For: " + spellings[i]) })
	g.expect(from("[fe80::1%eth0]:1", "GET", "/"), ok, limited)
	g.expect(from("[fe80::1%eth1]:1", "GET", "/"), limited)
}

// CVE-2020-28483, gin.
func TestS01ForwardedForIsNotTrustedByDefault(t *testing.T) {
	oneBucket(t, ruled(t, once()), 100, func(i int) *http.Request {
		return get("/", fmt.Sprintf("X-Forwarded-For: 203.0.%d.%d", i, 255-i))
	})
}

// CVE-2026-29794, Vikunja; CVE-2026-24000 and CVE-2026-46356, Fleet.
func TestS02S03NoHeaderIsReadUnlessNamed(t *testing.T) {
	f := func(name string, g *rig, request func(headers ...string) *http.Request) {
		t.Helper()
		oneBucket(t, g, 10, func(i int) *http.Request {
			value := fmt.Sprint("203.0.113.", i+1)
			if name == "Forwarded" {
				value = "for=" + value
			}
			return request(name + ": " + value)
		})
	}
	stranger := func(headers ...string) *http.Request { return get("/", headers...) }
	proxy := func(headers ...string) *http.Request {
		return proxied(append(headers, "X-Gateway-Client: 198.51.100.9")...)
	}
	for _, name := range identityHeaders() {
		f(name, ruled(t, once()), stranger)
		f(name, behindProxy(t, name, 0), stranger)            // not a trusted peer
		f(name, behindProxy(t, "X-Gateway-Client", 0), proxy) // not the one that was named
	}
}

// GHSA-9g5q-2w5x-hmxf and GHSA-rjr7-jggh-pgcp, chi.
func TestS04LeftmostForwardedForIsNotTheCaller(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	oneBucket(t, g, 50, func(i int) *http.Request { return proxied(fmt.Sprintf("X-Forwarded-For: 6.6.6.%d, 203.0.113.7", i)) })
}

// CVE-2026-45045, Fiber: the caller's line comes first, the proxy's second.
func TestS05RepeatedIdentityHeaderIsNoFreshBucket(t *testing.T) {
	t.Run("address", func(t *testing.T) {
		g := behindProxy(t, "X-Real-IP", 0)
		oneBucket(t, g, 20, func(i int) *http.Request {
			return proxied(fmt.Sprint("X-Real-IP: 6.6.6.", i), "X-Real-IP: 203.0.113.7")
		})
	})
	t.Run("key", func(t *testing.T) {
		g := ruled(t, once(httplimit.ByHeader("X-Api-Key")))
		g.expect(get("/", "X-Api-Key: a"), ok, limited)
		oneBucket(t, g, 20, func(i int) *http.Request { return get("/", fmt.Sprint("X-Api-Key: ", i), "X-Api-Key: a") })
	})
	t.Run("key, rejected", func(t *testing.T) {
		rule := once(httplimit.ByHeader("X-Api-Key"))
		rule.Missing = httplimit.Reject
		ruled(t, rule).expect(get("/", "X-Api-Key: a", "X-Api-Key: a"), http.StatusBadRequest)
	})
}

// CVE-2024-45410 and CVE-2026-29054, Traefik; CVE-2022-31813, httpd.
func TestS06HeaderNamedByConnectionStillNamesTheCaller(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	for _, hop := range []string{"close, x-forwarded-for", "X-Forwarded-For", "keep-alive, X-FORWARDED-FOR"} {
		caller := "X-Forwarded-For: 203.0.113." + fmt.Sprint(len(hop))
		g.expect(proxied("Connection: "+hop, caller), ok, limited)
	}
	// Where a proxy did strip it, there is still someone to count under.
	oneBucket(t, g, 20, func(int) *http.Request { return proxied("Connection: close, x-forwarded-for") })
}

// CVE-2025-64484, oauth2-proxy; CVE-2026-54763, Traefik.
func TestS07UnderscoresAreNotHyphens(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	oneBucket(t, g, 20, func(i int) *http.Request {
		return proxied("X-Forwarded-For: 203.0.113.7", fmt.Sprint("X_Forwarded_For: 6.6.6.", i))
	})
	g = ruled(t, once(httplimit.ByHeader("X-Api-Key")))
	oneBucket(t, g, 20, func(i int) *http.Request { return get("/", "X-Api-Key: a", fmt.Sprint("X_Api_Key: ", i)) })
}

// express-rate-limit before 8.0.
func TestS08AddressesOfOneSubscriberShareOneBucket(t *testing.T) {
	oneBucket(t, ruled(t, once()), 1000, func(i int) *http.Request {
		return from(fmt.Sprintf("[2001:db8::%x:%x]:1", i, i*7), "GET", "/")
	})
}

// CVE-2026-30827, express-rate-limit; goiabada with httprate.
func TestS09MappedIsDecidedByBitsNotText(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	spellings := []string{"1.2.3.4", "::ffff:1.2.3.4", "::ffff:102:304", "[::FFFF:1.2.3.4]:80"}
	oneBucket(t, g, len(spellings), func(i int) *http.Request { return proxied("X-Forwarded-For: " + spellings[i]) })
	g.expect(proxied("X-Forwarded-For: ::ffff:5.6.7.8"), ok, limited)
	g.expect(proxied("X-Forwarded-For: 2001:db8::1.2.3.4"), ok, limited)
}

// CVE-2024-24790, net/netip; GHSA-7jmw-8259-q9jx, Traefik.
func TestS10MappedProxyIsTheProxy(t *testing.T) {
	g := behindProxy(t, "X-Forwarded-For", 0)
	r := func(caller string) *http.Request {
		return from("[::ffff:10.0.0.1]:1", "GET", "/", "X-Forwarded-For: "+caller)
	}
	g.expect(r("203.0.113.7"), ok, limited)
	g.expect(r("203.0.113.8"), ok, limited)
}

// CVE-2025-64526, Strapi: any extra field was part of the key.
func TestS11UndeclaredInputIsNoPartOfTheKey(t *testing.T) {
	oneBucket(t, ruled(t, once()), 50, func(i int) *http.Request {
		form := url.Values{"email": {fmt.Sprint(i, "@example.com")}}.Encode()
		r := from("192.0.2.1:1", http.MethodPost, "/login?"+form, "Cookie: email="+fmt.Sprint(i), "X-Email: "+fmt.Sprint(i))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = io.NopCloser(strings.NewReader(form))
		return r
	})
}

// CVE-2022-24112, APISIX: requests made from one request forged their identity.
func TestS13InnerRequestsOfABatchAreTheCallersAndEachCosts(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "api", Limits: []string{"3/day"}})
	batch := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 10 {
			inner := r.Clone(r.Context())
			inner.Header.Set("X-Real-Ip", fmt.Sprint("6.6.6.", i))
			inner.Header.Set("X-Forwarded-For", fmt.Sprint("6.6.6.", i))
			g.ServeHTTP(httptest.NewRecorder(), inner)
		}
		w.WriteHeader(http.StatusMultiStatus)
	})
	expect(t, batch, get("/batch"), http.StatusMultiStatus)
	if n := g.served.Load(); n != 3 {
		t.Errorf("%d inner requests served, want 3", n)
	}
}

// Keys such as X-User-ID: to rotate them evades the rule, to send another's locks
// that caller out. The first is what the address beside it is for; the second
// cannot happen where the key is verified first.
func TestS14InventedUserNamesAreHeldByTheAddress(t *testing.T) {
	g := ruled(t,
		httplimit.Rule{Name: "address", Limits: []string{"10/day"}},
		httplimit.Rule{Name: "user", Limits: []string{"5/day"}, Key: []httplimit.Key{httplimit.ByHeader("X-User-Id")}},
	)
	for i := range 100 {
		want := ok
		if i >= 10 {
			want = limited
		}
		g.expect(get("/", fmt.Sprint("X-User-Id: ", i)), want)
	}
}

func TestS14UnverifiedNamesDoNotTouchTheirOwner(t *testing.T) {
	verified := httplimit.By("user", func(r *http.Request) (string, bool) {
		name, password, _ := r.BasicAuth()
		return name, password == "right"
	})
	g := ruled(t, once(verified))
	login := func(peer, password string) *http.Request {
		r := from(peer, "GET", "/")
		r.SetBasicAuth("victim", password)
		return r
	}
	g.expect(login("192.0.2.66:1", "guess"), ok, limited) // counted by its address
	g.expect(login("192.0.2.1:1", "right"), ok, limited)
}

// CVE-2026-40575, oauth2-proxy, and its kind: what a caller sends under the names
// of our own fields means nothing, and does not come back.
func TestS47InboundCopiesOfOurFieldsMeanNothing(t *testing.T) {
	forged := []string{
		"RateLimit: \"once\";r=99;t=1", "RateLimit-Policy: \"once\";q=99;w=1", "X-RateLimit-Limit: 99",
		"X-RateLimit-Remaining: 99", "X-Weir-Decided: 1", "Retry-After: 0",
	}
	g := ruled(t, once())
	res := g.expect(get("/", forged...), ok, limited)
	field(t, res, "RateLimit", `"once";r=0;t=86400`)
	field(t, res, "X-RateLimit-Limit", "1")
	field(t, res, "Retry-After", "86400")
}

// A peer without an address cannot be counted by one, and is not let pass.
func TestPeerWithoutAnAddressIsNeverSkipped(t *testing.T) {
	for _, peer := range []string{"", "@", "/run/api.sock", "pipe", "999.1.1.1:1"} {
		for _, missing := range []httplimit.Missing{httplimit.ByAddress, httplimit.Skip, httplimit.Reject} {
			rule := once()
			rule.Missing = missing
			ruled(t, rule).expect(from(peer, "GET", "/"), http.StatusBadRequest)
		}
		keyed := once(httplimit.ByHeader("X-Api-Key"))
		g := ruled(t, keyed)
		g.expect(from(peer, "GET", "/"), http.StatusBadRequest)
		g.expect(from(peer, "GET", "/", "X-Api-Key: a"), ok, limited)
	}
}

func TestS43BytesOfAKeyCountAsTheyAre(t *testing.T) {
	g := ruled(t, once(httplimit.ByHeader("User")))
	for _, name := range []string{"A@x", "a@x", "a@\u0131", "\uff41@x", "a@\xff", "a@\xfe", "a@\ufffd", "a\x00", "a"} {
		g.expect(get("/", "User: "+name), ok, limited)
	}
	long := strings.Repeat("x", 64<<10)
	g.expect(get("/", "User: "+long+"1"), ok, limited)
	g.expect(get("/", "User: "+long+"2"), ok, limited)
}
