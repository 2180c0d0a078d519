package httplimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/weirhq/weir/httplimit"
)

// spellings checks what becomes of each spelling of /login once its limit is
// used up: 429, or what the router answers where it takes it for another path. A
// 200 would be a fresh bucket.
func spellings(t *testing.T, h http.Handler, method string, want map[string]int) {
	t.Helper()
	expect(t, h, from("192.0.2.1:1", method, "/login"), ok, limited)
	for target, status := range want {
		for range 3 {
			res := expect(t, h, from("192.0.2.1:1", method, target), status)
			if status != limited {
				field(t, res, "RateLimit", "")
			}
		}
	}
}

// CVE-2021-29492, Envoy and Istio; rack-attack before 4.3.1; tollbooth v8.0.1.
func TestR36S16S19SpellingsOfAPathOnServeMux(t *testing.T) {
	g := ruled(t, once())
	mux := http.NewServeMux()
	mux.Handle("POST /login", g)
	spellings(t, mux, http.MethodPost, map[string]int{
		"/login":         limited,
		"/%6cogin":       limited, // unescaped before it is matched
		"/login?x=1":     limited,
		"//login":        http.StatusTemporaryRedirect, // to /login
		"/a/../login":    http.StatusTemporaryRedirect,
		"/./login":       http.StatusTemporaryRedirect,
		"/%2e%2e/login":  http.StatusNotFound,
		"/login/":        http.StatusNotFound,
		"/Login":         http.StatusNotFound,
		"/login;x=1":     http.StatusNotFound,
		"/login%2F":      http.StatusNotFound,
		"/login%00":      http.StatusNotFound,
		"/login%20":      http.StatusNotFound,
		"/login\\":       http.StatusNotFound,
		"http://a/login": limited, // absolute form, as to a proxy
	})
}

// The same where everything below reaches one handler: all spellings that reach
// it share its bucket, because no key has the path in it.
func TestR36S16S19SpellingsThatReachTheHandlerShareItsBucket(t *testing.T) {
	g := ruled(t, once())
	mux := http.NewServeMux()
	mux.Handle("/login/", g)
	mux.Handle("/login", g)
	spellings(t, mux, http.MethodGet, map[string]int{
		"/login/": limited, "/login/x": limited, "/login/%2F": limited, "/login/;x": limited, "/login/%00": limited,
		"/log%69n/": limited, "/login/a%2fb": limited,
		"/Login": http.StatusNotFound, "//login": http.StatusTemporaryRedirect,
	})
	bare := ruled(t, once())
	spellings(t, bare, http.MethodGet, map[string]int{
		"//login": limited, "/login/": limited, "/Login": limited, "/%6cogin": limited, "/a/../login": limited,
		"/login;x=1": limited, "/login%2F": limited, "/login%00": limited,
	})
}

func TestR36S16S19SpellingsOfAPathOnChi(t *testing.T) {
	g := ruled(t, once())
	r := chi.NewRouter()
	r.With(g.Handler).Post("/login", g.count)
	spellings(t, r, http.MethodPost, map[string]int{
		"/login": limited, "/login?x=1": limited,
		"/%6cogin": http.StatusNotFound, // chi matches needless escapes as they are
		"//login":  http.StatusNotFound, "/a/../login": http.StatusNotFound, "/login/": http.StatusNotFound,
		"/Login": http.StatusNotFound, "/login;x=1": http.StatusNotFound, "/login%2F": http.StatusNotFound, "/login%00": http.StatusNotFound,
	})
}

// CVE-2026-26205, opa-envoy-plugin: "//login" was read as a host.
func TestS17TwoSlashesAreNoHost(t *testing.T) {
	d := &scripted{}
	g := rigged(t, httplimit.Config{Decider: d})
	g.expect(from("192.0.2.1:1", "GET", "//admin/x"), ok)
	if d.seen.Host != "example.com" || d.seen.Path != "//admin/x" {
		t.Errorf("host %q, path %q", d.seen.Host, d.seen.Path)
	}
}

// CVE-2025-66490 and CVE-2026-48020, Traefik: what strips a prefix and what
// matches the rule read different paths.
func TestS18RuleInsideAndOutsideOfStripPrefixIsOneRule(t *testing.T) {
	g := ruled(t, once())
	inner := http.NewServeMux()
	inner.Handle("/admin", g)
	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", inner))
	mux.Handle("/admin", g)
	expect(t, mux, get("/api/admin"), ok, limited)
	expect(t, mux, get("/admin"), limited)
	expect(t, mux, get("/api/%61dmin"), limited)
	for _, target := range []string{"/api/%2e%2e/admin", "/api/../admin", "/api//admin"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, get(target))
		if w.Code == ok {
			t.Errorf("%s: served", target)
		}
	}
}

// CVE-2026-40103, Vikunja.
func TestS20MethodIsTheOneThatWasSent(t *testing.T) {
	g := ruled(t, once())
	mux := http.NewServeMux()
	mux.Handle("POST /x", g)
	mux.HandleFunc("GET /x", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "read") })
	expect(t, mux, from("192.0.2.1:1", "POST", "/x"), ok, limited)
	for _, header := range []string{"X-Http-Method-Override: GET", "X-Http-Method: GET", "X-Method-Override: GET"} {
		expect(t, mux, from("192.0.2.1:1", "POST", "/x", header), limited)
	}
	expect(t, mux, from("192.0.2.1:1", "POST", "/x?_method=GET"), limited)
	for method, want := range map[string]int{
		"GET": ok, "HEAD": ok, // GET's own route, which has no limit
		"post": http.StatusMethodNotAllowed, "Post": http.StatusMethodNotAllowed,
		"PUT": http.StatusMethodNotAllowed, "OPTIONS": http.StatusMethodNotAllowed, "BREW": http.StatusMethodNotAllowed,
	} {
		expect(t, mux, from("192.0.2.1:1", method, "/x", "X-Http-Method-Override: POST"), want)
	}
	if n := g.served.Load(); n != 1 {
		t.Errorf("%d reached the handler, want 1", n)
	}
}

func TestHeadSharesTheLimitOfGet(t *testing.T) {
	g := ruled(t, once())
	mux := http.NewServeMux()
	mux.Handle("GET /x", g)
	expect(t, mux, from("192.0.2.1:1", "HEAD", "/x"), ok, limited)
	res := expect(t, mux, from("192.0.2.1:1", "GET", "/x"), limited)
	field(t, res, "RateLimit", `"once";r=0;t=86400`)
}

func TestChi(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "all", Limits: []string{"4/day"}})
	user := ruled(t, once(httplimit.ByPathValue("name")))
	r := chi.NewRouter()
	r.Use(g.Handler)
	r.Get("/free", g.count)
	r.With(user.Handler).Get("/users/{name}", g.count)
	expect(t, r, get("/users/ann"), ok, limited)
	expect(t, r, get("/users/bob"), ok)
	expect(t, r, get("/free"), ok, limited) // r.Use counts every route
	expect(t, r, get("/nowhere"), limited)  // and those that do not exist
}

// chi leaves needless escapes in a value; ServeMux does not.
func TestPathValueIsOneKeyHoweverItIsEscaped(t *testing.T) {
	targets := []string{"/users/abc", "/users/%61bc", "/users/a%62c", "/users/%61%62%63"}
	key := httplimit.ByPathValue("name")

	g := ruled(t, once(key))
	mux := http.NewServeMux()
	mux.Handle("/users/{name}", g)
	h := ruled(t, once(key))
	r := chi.NewRouter()
	r.With(h.Handler).Get("/users/{name}", h.count)
	for _, router := range []http.Handler{mux, r} {
		expect(t, router, get(targets[0]), ok)
		for _, target := range targets {
			expect(t, router, get(target), limited)
		}
		expect(t, router, get("/users/abd"), ok)
	}
}
