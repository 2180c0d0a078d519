package proxy

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever target is let through is written to the upstream with the bytes in
// which it came; what decides sees its path.
func FuzzTarget(f *testing.F) {
	for _, target := range []string{
		"/", "//x", "/a%2Fb?x;y", "/a%2Fb|c", "//a|b", "*", "http://h/x?y", "http://h", "https://h?y", "/é", "/x#y", "/%", "/x?", "ftp://h/",
		"http://u@h/", "http:///x", "http:x", "/\\", "/?#", "?", "//", "/*", "/%00",
	} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + uri + " HTTP/1.1\r\nHost: h\r\n\r\n")))
		if err != nil {
			return
		}
		upstream := &url.URL{Scheme: "http", Host: "up.example"}
		s := &Settings{upstream: upstream}
		target, ok := targetOf(r)
		if !ok || !target.sendable() {
			return
		}
		out := *r.URL
		target.join(&out, r.URL.RawQuery, s)
		if got, want := out.RequestURI(), originForm(r.RequestURI); got != want {
			t.Errorf("%q: %q is sent, want %q", uri, got, want)
		}
		if path, _, _ := strings.Cut(originForm(r.RequestURI), "?"); target.raw != path {
			t.Errorf("%q: %q is decided, want %q", uri, target.raw, path)
		}
		if out.Host != upstream.Host || out.User != nil {
			t.Errorf("%q goes to %s", uri, out.Host)
		}
	})
}

// originForm is a target without its scheme and host, by another way.
func originForm(uri string) string {
	if strings.HasPrefix(uri, "/") || uri == asterisk {
		return uri
	}
	uri = uri[strings.Index(uri, "//")+2:]
	for uri != "" && uri[0] != '/' && uri[0] != '?' {
		uri = uri[1:]
	}
	if !strings.HasPrefix(uri, "/") {
		return "/" + uri
	}
	return uri
}

// S07: no spelling that some server might take for a protected name reaches the
// upstream, and nothing else is removed.
func TestNoSpellingPasses(t *testing.T) {
	s := &Settings{strip: map[string]bool{"X-Plan": true}}
	names := []string{"Forwarded", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Anything", "X-Plan", "RateLimit", "RateLimit-Policy", "X-RateLimit-Reset", "X-Weir-Decided"}
	rapid.Check(t, func(t *rapid.T) {
		name := []byte(rapid.SampledFrom(names).Draw(t, "name"))
		for i, c := range name {
			switch {
			case c == '-':
				name[i] = rapid.SampledFrom([]byte("-_.~!|")).Draw(t, "separator")
			case rapid.Bool().Draw(t, "other case"):
				name[i] = c ^ 0x20
			}
		}
		key := http.CanonicalHeaderKey(string(name))
		if !s.strips(key, false) {
			t.Errorf("%s passes", key)
		}
		if folded(key) != key && !s.strips(key, true) {
			t.Errorf("%s of a trusted peer passes", key)
		}
	})
	for _, name := range []string{"Accept", "X-Planet", "X-Real-Ipx", "X-Rate", "Forward", "X-Forward", "Weir", "Cookie", "Authorization"} {
		if s.strips(name, false) {
			t.Errorf("%s is removed", name)
		}
	}
}
