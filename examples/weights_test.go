package examples_test

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"

	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// Requests weigh what they ask for: a page of search results costs one unit for
// every ten rows. A cost that could never pass is 422, one that cannot be read
// is 400, and neither is charged.
func Example_weights() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{
			Name:   "search",
			Limits: []string{"100/h"},
			Cost: func(r *http.Request) (int64, error) {
				rows, err := strconv.ParseInt(r.URL.Query().Get("rows"), 10, 64)
				if err != nil || rows < 1 {
					return 0, errors.New("rows is no positive number")
				}
				return (rows-1)/10 + 1, nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := limit.Handler(http.HandlerFunc(jobs))

	for _, rows := range []string{"10", "500", "500", "490", "5000", "all", "-500"} {
		res := send(h, "192.0.2.1", "GET", "/search?rows="+rows)
		fmt.Println(rows, "rows:", res.StatusCode, "left:", cmp.Or(res.Header.Get("X-RateLimit-Remaining"), "untold"))
	}
	// Output:
	// 10 rows: 200 left: 99
	// 500 rows: 200 left: 49
	// 500 rows: 429 left: 49
	// 490 rows: 200 left: 0
	// 5000 rows: 422 left: 0
	// all rows: 400 left: untold
	// -500 rows: 400 left: untold
}
