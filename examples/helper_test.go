package examples_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

// jobs stands for the application.
func jobs(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "done") }

// send serves one request of a caller and gives the answer.
func send(h http.Handler, caller, method, target string, edit ...func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = caller + ":1234"
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// header sets a field of a request.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}
