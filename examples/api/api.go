package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/httplimit"
)

// newAPI makes the routes, one of which is limited.
func newAPI(o options, store weir.Store) (http.Handler, error) {
	resolver, err := newResolver(o)
	if err != nil {
		return nil, err
	}
	limit, err := httplimit.New(httplimit.Config{
		Store:    store,
		Rules:    []httplimit.Rule{{Name: "create-job", Limits: o.limits}},
		ClientIP: resolver,
		Header:   header.Config{Debug: o.debug},
	})
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /api/v1/jobs", createJob)
	routes.HandleFunc("/", hello)

	// The pattern decides what is limited; the middleware knows no path.
	mux := http.NewServeMux()
	if o.match != "/" {
		mux.Handle("/", routes)
	}
	return mux, handle(mux, o.match, limit.Handler(routes))
}

// handle registers a pattern that comes from outside: a mux panics over one that
// it cannot read.
func handle(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("-match %q: %v", pattern, v)
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// newResolver says who is calling: the peer, unless that is a trusted proxy.
func newResolver(o options) (*clientip.Resolver, error) {
	c := clientip.Config{Trusted: o.trust, IPv4Bits: o.prefix}
	if len(o.trust) > 0 {
		c.Header = "X-Forwarded-For"
	}
	return clientip.New(c)
}

func createJob(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"job": r.FormValue("n"), "state": "accepted"}) // the client has gone: nobody to tell
}

func hello(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "free\n")
}
