package ulule

import (
	"net/http"
	"net/netip"

	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

func after(next http.Handler) (http.Handler, error) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	callers, err := clientip.New(clientip.Config{
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, // your proxies, and nobody else
		Header:  "X-Forwarded-For",
	})
	if err != nil {
		return nil, err
	}
	m, err := httplimit.New(httplimit.Config{
		Store:    store,
		ClientIP: callers,
		Rules:    []httplimit.Rule{{Name: "api", Limits: []string{"1000/h fixed-window"}}},
		Header:   header.Config{EpochReset: true}, // X-RateLimit-Reset as an instant, as it was
	})
	if err != nil {
		return nil, err
	}
	return m.Handler(next), nil
}
