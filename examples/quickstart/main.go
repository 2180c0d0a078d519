// Quickstart limits POST /api/v1/jobs to 5 a second for each caller.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

func main() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "create-job", Limits: []string{"5/s burst 5"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /api/v1/jobs", limit.Handler(http.HandlerFunc(createJob)))
	log.Fatal(http.ListenAndServe("127.0.0.1:8000", nil))
}

func createJob(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "accepted")
}
