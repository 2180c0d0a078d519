package match

import (
	"strings"
	"testing"
)

func TestCanonicalPath(t *testing.T) {
	for _, c := range []struct {
		escaped, want string
		found         Ambiguity
	}{
		{"", "/", None},
		{"/", "/", None},
		{"*", "*", None},
		{"/*", "/*", None},
		{"/a", "/a", None},
		{"/a/", "/a/", None},
		{"//a//b//", "/a/b/", None},
		{"/a/.", "/a/", DotSegment},
		{"/a/..", "/", DotSegment},
		{"/../../a", "/a", DotSegment},
		{"/a/b/../../../c/./d", "/c/d", DotSegment},
		{"/...", "/...", None},
		{"/.a/..b/c..", "/.a/..b/c..", None},
		{"/a;x=1/b;y", "/a/b", None},
		{"/a%3Bx=1/b%3by", "/a/b", None},
		{"/%61%2D%7e/%20", "/a-~/%20", None},
		{"/%2541", "/%2541", None},
		{"/v1/things:batch", "/v1/things:batch", None},
		{"/a+b=c,d@e!f$g&h'(i)", "/a+b=c,d@e!f$g&h'(i)", None},
		{"/\xc3\xa4/%C3%A4/\xff", "/%C3%A4/%C3%A4/%FF", None},
		{"/a\"b<c>", "/a%22b%3Cc%3E", None},

		{"/a%2Fb", "/a%2Fb", EncodedSlash},
		{"/a;%2fb", "/a", EncodedSlash},
		{`/a\b`, "/a%5Cb", Backslash},
		{"/a%5cb", "/a%5Cb", Backslash},
		{"/a%00", "/a%00", ControlByte},
		{"/a\t", "/a%09", ControlByte},
		{"/a%7f", "/a%7F", ControlByte},
		{"/a/%2e", "/a/", DotSegment},
		{"/a/b/.%2E/c", "/a/c", DotSegment},
		{"/a/..;x/b", "/b", DotSegment},
		{"/a/..%3b/b", "/b", DotSegment},
		{"/;x/login", "/login", BareParameters},
		{"/a/;sid=1", "/a/", BareParameters},
		{"/%zz", "/%25zz", InvalidEscape},
		{"/%2", "/%252", InvalidEscape},
		{"/a%", "/a%25", InvalidEscape},
		{"/%u002e", "/%25u002e", InvalidEscape},
		{"a/b", "/a/b", NoSlash},
		{"*/", "/*/", NoSlash},
		{"http://a/b", "/http:/a/b", NoSlash},
		{"/a?b", "/a%3Fb", QueryMark},
		{"/a#b", "/a%23b", QueryMark},
		{`a\b%00`, "/a%5Cb%00", NoSlash}, // the first one counts
	} {
		var p Path
		if got := p.Parse(c.escaped, Options{}); got != c.found || p.Ambiguous() != c.found || p.String() != c.want {
			t.Errorf("%q is %q, %v; want %q, %v", c.escaped, p.String(), got, c.want, c.found)
		}
		if got := p.Parse(c.escaped, Options{Pass: true}); got != None || p.Ambiguous() != c.found || p.String() != c.want {
			t.Errorf("%q, let by, is %q, %v, %v", c.escaped, p.String(), got, p.Ambiguous())
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ escaped, want string }{
		{"/Login", "/login"},
		{"/LOGIN/{[@`", "/login/%7B%5B@%60"},
		{"/\u212a\u017f", "/ks"}, // the Kelvin sign and the long s
		{"/%C3%84", read(t, "/ä", Options{Fold: true}).String()},
		{"/Σς", read(t, "/σΣ", Options{Fold: true}).String()},
		{"/\u2c65", "/%C8%BA"}, // the capital is shorter
		{"/A%FFB%C3", "/a%FFb%C3"},
		{"/\u0130", "/%C4%B0"}, // no sibling: no i
	} {
		if got := read(t, c.escaped, Options{Fold: true}).String(); got != c.want {
			t.Errorf("%q folds to %q, want %q", c.escaped, got, c.want)
		}
	}
}

func TestAmbiguityNames(t *testing.T) {
	seen := map[string]bool{"": true, "unknown": true}
	for a := None; a <= QueryMark; a++ {
		if seen[a.String()] {
			t.Errorf("%d is called %q", a, a)
		}
		seen[a.String()] = true
	}
	if got := (QueryMark + 1).String(); got != "unknown" {
		t.Errorf("what is none is called %q", got)
	}
}

func TestAllocationsOfParsedPath(t *testing.T) {
	texts := []string{"/api/v1/jobs", "//a/%6cogin/b;x=1/" + strings.Repeat("Long", 20), "*", "/"}
	var p Path
	for _, text := range texts {
		p.Parse(text, Options{Fold: true})
	}
	for _, text := range texts {
		fresh := read(t, text, Options{Fold: true})
		if n := testing.AllocsPerRun(100, func() { p.Parse(text, Options{Fold: true}) }); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
		if p.String() != fresh.String() {
			t.Errorf("%q is %q in a used Path, %q in a new one", text, p.String(), fresh)
		}
	}
}

func TestZeroPathIsTheRoot(t *testing.T) {
	var p Path
	if !parse(t, "/{$}").Fits("GET", "", &p) || p.String() != "/" {
		t.Errorf("it is %q", p.String())
	}
}
