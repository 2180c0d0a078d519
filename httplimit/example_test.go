package httplimit_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

func ExampleMiddleware_Handler() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "create-job", Limits: []string{"1/min"}}},
		Deny: func(w http.ResponseWriter, _ *http.Request, o *weir.Outcome) {
			http.Error(w, "come back later", header.Status(o))
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /jobs", m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "created")
	})))

	for range 2 {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/jobs", nil))
		fmt.Print(w.Code, " ", w.Header().Get("Retry-After"), " ", w.Body)
	}
	// Output:
	// 200  created
	// 429 60 come back later
}

// Check is the decision alone, for a handler that acts on it by itself.
func ExampleMiddleware_Check() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "full-size", Limits: []string{"1/day"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	images := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var o weir.Outcome
		if m.Check(r, &o) {
			fmt.Fprintln(w, "the full picture")
			return
		}
		fmt.Fprintln(w, "a thumbnail")
	})

	for range 2 {
		w := httptest.NewRecorder()
		images.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Print(w.Body)
	}
	// Output:
	// the full picture
	// a thumbnail
}

func ExampleNew() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{
			{Name: "login", Limits: []string{"5/min", "1 per 60s"}},
			{Name: "login", Limits: []string{"unlimited"}, OnError: weir.Local},
		},
	})
	fmt.Println(err)
	// Output:
	// weir: rule login: Limits[1] "1 per 60s": another limit of the list is named 1m as well; name one of them, as in "burst: 20/s"
	// weir: rule login: Name: another rule has the same; limits under one name share their states: choose another
	// weir: rule login: OnError local: no choice for a store that fails; use weir.Closed or weir.Open
}

// A client that protects another's quota: under a limit of its own, and by what the
// other says. Here nothing waits, and the caller learns when to try again.
func ExampleNewTransport() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", `"api";r=0;t=30`)
		fmt.Fprintln(w, "the last one for now")
	}))
	defer api.Close()

	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(store, weir.MustLimit("api", "100/min burst 10"))
	if err != nil {
		log.Fatal(err)
	}
	transport, err := httplimit.NewTransport(httplimit.TransportConfig{Limiter: limiter, FailFast: true})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}

	for range 2 {
		res, err := client.Get(api.URL)
		if notSent := (*httplimit.NotSentError)(nil); errors.As(err, &notSent) {
			fmt.Println("not sent; try again in", time.Until(notSent.RetryAt).Round(time.Second))
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(os.Stdout, res.Body)
		res.Body.Close()
	}
	// Output:
	// the last one for now
	// not sent; try again in 30s
}
