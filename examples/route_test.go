package examples_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// Five requests a second for each address, at most five at once, on one method
// of one path. Everything else is free.
func Example_route() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "create-job", Limits: []string{"5/s burst 5"}}},
	})
	if err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle("POST /api/v1/jobs", limit.Handler(http.HandlerFunc(jobs)))
	mux.HandleFunc("/", jobs)

	for range 6 {
		res := send(mux, "192.0.2.1", "POST", "/api/v1/jobs")
		fmt.Println(res.StatusCode, res.Header.Get("X-RateLimit-Remaining"))
	}
	fmt.Println("another address:", send(mux, "192.0.2.2", "POST", "/api/v1/jobs").StatusCode)
	fmt.Println("another method:", send(mux, "192.0.2.1", "GET", "/api/v1/jobs").StatusCode)
	// Output:
	// 200 4
	// 200 3
	// 200 2
	// 200 1
	// 200 0
	// 429 0
	// another address: 200
	// another method: 200
}
