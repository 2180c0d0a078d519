package clientip_test

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/weirhq/weir/clientip"
)

func ExampleResolver_Resolve() {
	r, err := clientip.New(clientip.Config{
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Header:  "X-Forwarded-For",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	header := http.Header{}
	header.Add("X-Forwarded-For", "1.1.1.1")               // written by the caller
	header.Add("X-Forwarded-For", "203.0.113.7, 10.0.0.2") // by two proxies

	for _, peer := range []string{"10.0.0.1:4711", "198.51.100.9:4711"} {
		a := r.Resolve(peer, header)
		fmt.Println(a.Addr, a.Sure, a.Reason)
	}
	header.Add("X-Forwarded-For", "unknown")
	a := r.Resolve("10.0.0.1:4711", header)
	fmt.Println(a.Addr, a.Sure, a.Reason)
	// Output:
	// 203.0.113.7 true none
	// 198.51.100.9 true untrusted-peer
	// 10.0.0.1 false invalid-hop
}

func ExampleResolver_Prefix() {
	var r *clientip.Resolver // nil: the defaults
	for _, s := range []string{"203.0.113.7", "::ffff:203.0.113.7", "64:ff9b::203.0.113.7", "2001:db8:1:2:3:4:5:6"} {
		fmt.Println(r.Prefix(netip.MustParseAddr(s)))
	}
	// Output:
	// 203.0.113.7/32
	// 203.0.113.7/32
	// 203.0.113.7/32
	// 2001:db8:1:2::/64
}

func ExampleNew() {
	_, err := clientip.New(clientip.Config{
		Trusted: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
		Header:  "X-Real-IP",
		Hops:    1,
	})
	fmt.Println(err)
	// Output:
	// clientip: Trusted 0.0.0.0/0: trusts everyone; list your proxies' networks
	// clientip: Hops 1: X-Real-IP holds one address and no list; leave it at 0
}
