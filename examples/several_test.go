package examples_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// Several limits at once: a caller's burst and day, and what the service as a
// whole can bear. A request is charged on all of them or on none.
func Example_several() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{
			{Name: "caller", Limits: []string{"3/h", "1000/day fixed-window"}},
			{Name: "service", Limits: []string{"4/h"}, Key: []httplimit.Key{httplimit.Everyone()}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := limit.Handler(http.HandlerFunc(jobs))

	for _, caller := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		res := send(h, caller, "GET", "/")
		fmt.Println(caller, res.StatusCode, "left:", res.Header.Get("X-RateLimit-Remaining"), "of", res.Header.Get("X-RateLimit-Limit"))
	}
	fmt.Println(send(h, "192.0.2.1", "GET", "/").Header.Get("RateLimit-Policy"))
	// Output:
	// 192.0.2.1 200 left: 2 of 3
	// 192.0.2.1 200 left: 1 of 3
	// 192.0.2.1 200 left: 0 of 3
	// 192.0.2.1 429 left: 0 of 3
	// 192.0.2.2 200 left: 0 of 4
	// 192.0.2.3 429 left: 0 of 4
	// "caller/1h";q=3;w=3600, "caller/1d";q=1000;w=86400, "service";q=4;w=3600
}
