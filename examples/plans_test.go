package examples_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// A limit per user, by plan. Users are known by a token that the application has
// issued; who has none is counted by address. A user who changes plan keeps what
// was used.
func Example_plans() {
	users := map[string]struct{ name, plan string }{
		"token-a": {"ann", "free"},
		"token-b": {"bob", "premium"},
		"token-c": {"cat", "staff"},
	}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{
			Name: "api",
			Key: []httplimit.Key{httplimit.By("user", func(r *http.Request) (string, bool) {
				user, known := users[r.Header.Get("X-Token")]
				return user.name, known
			})},
			Plan: func(r *http.Request) string { return users[r.Header.Get("X-Token")].plan },
			Plans: map[string][]string{
				"free":    {"2/h"},
				"premium": {"100/h burst 3", "1000/day fixed-window"},
				"staff":   {"unlimited"},
			},
			DefaultPlan: "free",
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	h := limit.Handler(http.HandlerFunc(jobs))

	for _, token := range []string{"token-a", "token-b", "token-c", "invented-1", "invented-2"} {
		fmt.Print(token)
		for range 4 {
			fmt.Print(" ", send(h, "192.0.2.1", "GET", "/", header("X-Token", token)).StatusCode)
		}
		fmt.Println()
	}
	// Output:
	// token-a 200 200 429 429
	// token-b 200 200 200 429
	// token-c 200 200 200 200
	// invented-1 200 200 429 429
	// invented-2 429 429 429 429
}
