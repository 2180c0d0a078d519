package match

import "testing"

// The tests here are named for mistakes that others made, each with an
// advisory: spellings that a limiter saw otherwise than what stood behind it.

// gRPC services are named by the path. One without the slash was served, and
// seen as another by what stood in front.
func TestS15MethodWithoutSlash(t *testing.T) {
	s := set(t, Options{}, "POST /pkg.Service/Call", "")
	var p Path
	if got := p.Parse("pkg.Service/Call", Options{}); got != NoSlash {
		t.Errorf("a path without a slash: %v", got)
	}
	matches(t, s, "POST", "", read(t, "pkg.Service/Call", Options{Pass: true}), 0, 1)
	matches(t, s, "POST", "", read(t, "/pkg.Service/Call", Options{}), 0, 1)
	matches(t, s, "POST", "", read(t, "/pkg.Service/Other", Options{}), 1)
}

func TestS16Spellings(t *testing.T) {
	s := set(t, Options{}, "POST /login", "/")
	folded := set(t, Options{Fold: true}, "POST /login", "/")
	for _, c := range []struct {
		escaped      string
		found        Ambiguity
		fits, folded bool // let by, if ambiguous
	}{
		{"/login", None, true, true},
		{"//login", None, true, true},
		{"/login/", None, true, true},
		{"/Login", None, false, true},
		{"/%6cogin", None, true, true},
		{"/%6Cogin", None, true, true},
		{"/a/../login", DotSegment, true, true},
		{"/login;x=1", None, true, true},
		{"/login%3Bx=1", None, true, true},
		{"/login%2F", EncodedSlash, false, false},
		{"/login%2f", EncodedSlash, false, false},
		{"/login%00", ControlByte, false, false},
		{"/..;/login", DotSegment, true, true},
		{"/./login", DotSegment, true, true},
		{"/a/%2e%2e/login", DotSegment, true, true},
		{"/login%252F", None, false, false},
		{`\login`, NoSlash, false, false},
		{`/\login`, Backslash, false, false},
		{"/%5clogin", Backslash, false, false},
		{"/;x/login", BareParameters, true, true},
		{"/%l6ogin", InvalidEscape, false, false},
		{"/login#x", QueryMark, false, false},
	} {
		var p Path
		if got := p.Parse(c.escaped, Options{}); got != c.found {
			t.Errorf("%q: %v, want %v", c.escaped, got, c.found)
		}
		want := map[bool][]int{true: {0, 1}, false: {1}}
		matches(t, s, "POST", "", read(t, c.escaped, Options{Pass: true}), want[c.fits]...)
		matches(t, folded, "POST", "", read(t, c.escaped, Options{Pass: true, Fold: true}), want[c.folded]...)
	}
}

// A target that begins with two slashes was read as a reference with a host.
func TestS17PathIsNoHost(t *testing.T) {
	s := set(t, Options{}, "/login", "login/", "/x", "login/x")
	matches(t, s, "GET", "api.example", read(t, "//login", Options{}), 0)
	matches(t, s, "GET", "api.example", read(t, "//login/x", Options{}))
	matches(t, s, "GET", "login", read(t, "//x", Options{}), 1, 2, 3)
}

// The prefix was stripped, and what was left resolved, after the rule had been
// chosen.
func TestS18DotSegments(t *testing.T) {
	s := set(t, Options{}, "/api/admin/", "/api/{rest...}")
	for _, escaped := range []string{
		"/api/public/../admin/users", "/api/./admin/users", "/x/../../api//admin/users",
		"/api/x/%2e%2e/admin/users", "/api/x/%2E./admin/users", "/api/x/..;/admin/users",
	} {
		var p Path
		if got := p.Parse(escaped, Options{}); got != DotSegment {
			t.Errorf("%q: %v", escaped, got)
		}
		matches(t, s, "GET", "", read(t, escaped, Options{Pass: true}), 0, 1)
	}
	matches(t, s, "GET", "", read(t, "/api/admin/../../other", Options{Pass: true}))
}

// The limiter looked at the path before the framework took the slash away.
func TestS19TrailingSlash(t *testing.T) {
	s := set(t, Options{}, "/login", "/api/", "/root/{$}", "/{name}")
	matches(t, s, "POST", "", read(t, "/login/", Options{}), 0, 3)
	matches(t, s, "POST", "", read(t, "/login//", Options{}), 0, 3)
	matches(t, s, "POST", "", read(t, "/login//", Options{}), 0, 3)
	matches(t, s, "POST", "", read(t, "/api", Options{}), 1, 3)
	matches(t, s, "POST", "", read(t, "/root", Options{}), 2, 3)

	keep := Options{KeepSlash: true}
	s = set(t, keep, "/login", "/api/", "/root/{$}", "/{name}")
	matches(t, s, "POST", "", read(t, "/login/", keep))
	matches(t, s, "POST", "", read(t, "/login", keep), 0, 3)
	matches(t, s, "POST", "", read(t, "/api", keep), 3)
	matches(t, s, "POST", "", read(t, "/api/", keep), 1)
	matches(t, s, "POST", "", read(t, "/api/x", keep), 1)
	matches(t, s, "POST", "", read(t, "/root", keep), 3)
	matches(t, s, "POST", "", read(t, "/root/", keep), 2)
}

// The permission followed from the path alone.
func TestS20Methods(t *testing.T) {
	s := set(t, Options{}, "POST /x", "GET /x", "HEAD /x", "/x", "PURGE /x")
	for method, want := range map[string][]int{
		"POST": {0, 3}, "GET": {1, 3}, "HEAD": {1, 2, 3}, "PURGE": {3, 4},
		"post": {3}, "Get": {3}, "PUT": {3}, "BREW": {3}, "": {3},
	} {
		matches(t, s, method, "", read(t, "/x", Options{}), want...)
	}
}
