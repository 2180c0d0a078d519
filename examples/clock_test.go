package examples_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// A test of one's own limits needs no waiting: the store's clock is an argument.
// Waits are exact to the microsecond.
func Example_clock() {
	now := weir.Micros(1_796_000_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "reports", Limits: []string{"1/h"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := limit.Handler(http.HandlerFunc(jobs))

	ask := func() { fmt.Println(send(h, "192.0.2.1", "GET", "/").StatusCode) }
	ask()
	ask()
	now += 3_599_999_999
	ask()
	now++
	ask()
	// Output:
	// 200
	// 429
	// 429
	// 200
}
