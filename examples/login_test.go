package examples_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"strings"

	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// A login is limited by address and by name: the first holds whoever tries many
// names, the second many addresses that try one. The name is the caller's to
// invent, so that it never stands alone. A limiter that cannot count lets nobody
// in (OnError's default).
func Example_login() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	name := httplimit.By("login-name", func(r *http.Request) (string, bool) {
		name := strings.ToLower(strings.TrimSpace(r.PostFormValue("name")))
		return name, name != ""
	})
	limit, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{
			{Name: "login-address", Limits: []string{"4/min", "200/day fixed-window"}},
			{Name: "login-name", Limits: []string{"2/min", "30/day fixed-window"}, Key: []httplimit.Key{name}, Missing: httplimit.Reject},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	login := limit.Handler(http.HandlerFunc(jobs))
	mux.Handle("POST /login", http.MaxBytesHandler(login, 4<<10)) // the key reads the form

	try := func(caller, name string) {
		res := send(mux, caller, "POST", "/login", form(url.Values{"name": {name}}))
		fmt.Printf("%s as %q: %d\n", caller, name, res.StatusCode)
	}
	try("192.0.2.1", "ann")
	try("192.0.2.1", "Ann ")
	try("192.0.2.1", "ann") // too often this name; costs the address nothing
	try("192.0.2.2", "ann") // from anywhere
	try("192.0.2.1", "bob")
	try("192.0.2.1", "cat")
	try("192.0.2.1", "dan") // too often this address
	try("192.0.2.2", "")
	// Output:
	// 192.0.2.1 as "ann": 200
	// 192.0.2.1 as "Ann ": 200
	// 192.0.2.1 as "ann": 429
	// 192.0.2.2 as "ann": 429
	// 192.0.2.1 as "bob": 200
	// 192.0.2.1 as "cat": 200
	// 192.0.2.1 as "dan": 429
	// 192.0.2.2 as "": 400
}

// form makes a request one that a browser sends.
func form(v url.Values) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = io.NopCloser(strings.NewReader(v.Encode()))
	}
}
