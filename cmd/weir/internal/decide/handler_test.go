package decide_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
)

var paths = [...]string{"/v1/take", "/v1/check", "/v1/explain"}

func TestMethodsAndPaths(t *testing.T) {
	g := rigged(t, nil)
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "BREW"} {
			w := g.send(method, path, "", http.NoBody)
			if w.Code != 405 || w.Header().Get("Allow") != "POST" {
				t.Errorf("%s %s: %d, %v", method, path, w.Code, w.Header())
			}
		}
	}
	for _, path := range []string{"/", "/v1", "/v1/take/", "/v1/TAKE", "/v2/take", "/v1/%74ake2"} {
		if w := g.send("POST", path, "application/json", strings.NewReader(`{}`)); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestContentTypes(t *testing.T) {
	g := rigged(t, nil)
	const body = `{"key":"k","limit":"5/s"}`
	f := func(status int, name, value string) {
		t.Helper()
		r := httptest.NewRequest("POST", "/v1/take", strings.NewReader(body))
		if name != "" {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: %s: %d %s", name, value, w.Code, w.Body)
		}
	}
	f(200, "", "")
	f(200, "Content-Type", "application/json")
	f(200, "Content-Type", "Application/JSON; charset=UTF-8")
	f(200, "Content-Type", "application/vnd.api+json")
	f(415, "Content-Type", "text/plain")
	f(415, "Content-Type", "text/json")
	f(415, "Content-Type", "application/x-www-form-urlencoded")
	f(415, "Content-Type", "application/json; charset=latin1")
	f(415, "Content-Type", "application/json;;;=")
	f(415, "Content-Type", "")
	f(415, "Content-Encoding", "gzip")
	f(200, "Content-Encoding", "identity")

	r := httptest.NewRequest("POST", "/v1/take", strings.NewReader(body))
	r.Header["Content-Type"] = []string{"application/json", "text/plain"}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != 415 {
		t.Errorf("two types: %d", w.Code)
	}
}

// A page in a browser on this machine reaches loopback, too.
func TestPagesOfOtherOrigins(t *testing.T) {
	g := rigged(t, nil)
	f := func(status int, name, value string) {
		t.Helper()
		r := httptest.NewRequest("POST", "/v1/take", strings.NewReader(`{"key":"k","limit":"5/s"}`))
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: %s: %d %s", name, value, w.Code, w.Body)
		}
	}
	f(403, "Sec-Fetch-Site", "cross-site")
	f(403, "Sec-Fetch-Site", "same-site")
	f(200, "Sec-Fetch-Site", "same-origin")
	f(200, "Sec-Fetch-Site", "none")
	f(403, "Origin", "https://evil.example")
}

func TestBodies(t *testing.T) {
	g := rigged(t, nil)
	for _, path := range paths {
		long := `{"key":"` + strings.Repeat("k", 64<<10) + `"}`
		g.refuses(path, long, 413, "longer than 64 KiB")
		w := g.send("POST", path, "application/json", iotest.ErrReader(errors.New("gone")))
		if w.Code != 400 || !strings.Contains(w.Body.String(), "ended before") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	full := `{"key":"k","limit":"5/s"}`
	full += strings.Repeat(" ", 64<<10-len(full))
	if w := g.post("/v1/take", full); w.Code != 200 {
		t.Errorf("64 KiB: %d %s", w.Code, w.Body)
	}
	endless := io.MultiReader(strings.NewReader(`{"key":"`), neverEnding('k'))
	if w := g.send("POST", "/v1/take", "application/json", endless); w.Code != 413 {
		t.Errorf("no end: %d", w.Code)
	}
}

// neverEnding is a body of one byte for ever.
type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestManyMistakesAreCut(t *testing.T) {
	g := rigged(t, nil)
	var body strings.Builder
	body.WriteString(`{"a":1`)
	for range 2000 {
		body.WriteString(`,"a":1`)
	}
	body.WriteString(`}`)
	w := g.post("/v1/take", body.String())
	if n := strings.Count(w.Body.String(), `"field"`); w.Code != 400 || n != 32 {
		t.Errorf("%d, %d mistakes", w.Code, n)
	}
	long := strings.Repeat("x", 10_000)
	if w := g.post("/v1/take", `{"`+long+`":1}`); w.Code != 400 || w.Body.Len() > 2000 {
		t.Errorf("a long name: %d bytes", w.Body.Len())
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := decide.New(decide.Config{})
	for _, field := range []string{"Rules", "Store", "Logger"} {
		if !errors.Is(err, weir.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
}
