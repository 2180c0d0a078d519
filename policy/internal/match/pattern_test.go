package match

import (
	"slices"
	"strings"
	"testing"
)

func TestPatternText(t *testing.T) {
	for _, c := range []struct{ text, want, method, host, wildcards string }{
		{"/", "/", "", "", ""},
		{"/{$}", "/{$}", "", "", ""},
		{"GET /", "GET /", "GET", "", ""},
		{"POST \t/login", "POST /login", "POST", "", ""},
		{"M-SEARCH /x", "M-SEARCH /x", "M-SEARCH", "", ""},
		{"API.Example./v1/", "api.example/v1/", "", "api.example", ""},
		{"GET a_b-1.example/", "GET a_b-1.example/", "GET", "a_b-1.example", ""},
		{"[2001:DB8:0::1]/x", "[2001:db8::1]/x", "", "[2001:db8::1]", ""},
		{"/a/{id}/b/{name...}", "/a/{id}/b/{name...}", "", "", "id name"},
		{"/{_}/{größe2}/{type}", "/{_}/{größe2}/{type}", "", "", "_ größe2 type"},
		{"/%6cogin", "/login", "", "", ""},
		{"/ä", "/%C3%A4", "", "", ""},
		{"/%7Bid%7d", "/%7Bid%7D", "", "", ""},
		{"/%2A/%2a%2A/%3aid/a%2A/b:c", "/%2A/%2A%2A/%3Aid/a%2A/b:c", "", "", ""},
		{"/c++/%2E.%2E/.%2b/%5Bid%5D/%3Ca%3E/a%7Cb/%5e", "/c++/%2E%2E%2E/.%2B/%5Bid%5D/%3Ca%3E/a%7Cb/%5E", "", "", ""},
		{"/login$/$batch/Items(1)/(a)/v1.0/a...b/~u/-/@x/=y/a,b/!", "/login$/$batch/Items(1)/(a)/v1.0/a...b/~u/-/@x/=y/a,b/!", "", "", ""},
		{"/100%25", "/100%25", "", "", ""},
	} {
		p := parse(t, c.text)
		if p.String() != c.want || p.Method() != c.method || p.Host() != c.host || strings.Join(p.Wildcards(), " ") != c.wildcards {
			t.Errorf("%q: %q, method %q, host %q, wildcards %q", c.text, p, p.Method(), p.Host(), p.Wildcards())
		}
		if again := parse(t, p.String()); again.String() != c.want || !slices.Equal(again.segments, p.segments) {
			t.Errorf("%q is printed as %q, which is %q", c.text, p, again)
		}
	}
}

// A mistake is marked in the text: «» stand around it.
func TestPatternMistakes(t *testing.T) {
	for _, c := range []struct {
		marked string
		want   []string // of each mistake, what is behind the pattern
	}{
		{"«»", []string{`it is empty; write / for every request`}},
		{"login«»", []string{`it has no path; write /login`}},
		{"POST«»", []string{`it has no path; write POST / for every path`}},
		{"POST «»", []string{`it has no path; write POST / for every path`}},
		{"POST login«»", []string{`it has no path; write POST /login`}},
		{"GET api.example«»", []string{`it has no path; write GET api.example/ for every path of a host`}},
		{"« »/x", []string{`" " stands before the pattern; leave it out`}},
		{"«post» /login", []string{`"post" is not in capitals; write POST`}},
		{"«GET,POST» /", []string{`"GET,POST" is not one method; give each method a pattern of its own; for every method leave it out`}},
		{"«*» /", []string{`"*" is not one method; give each method a pattern of its own; for every method leave it out`}},
		{"«PÖST» /", []string{`"PÖST" is no method; write one word, such as POST`}},
		{"«GET»/login", []string{`"GET" is a method without a space behind it; write GET /login`}},
		{"GET «POST »/x", []string{`"POST " is no host; write letters, digits, - and _ with dots between; other alphabets as xn--`}},
		{"«https:»//api.example/x", []string{`"https:" is a scheme, and a pattern has none; begin with the host`}},
		{"api.example«:8080»/x", []string{`":8080" is a port; leave it out: hosts are compared without it`}},
		{"[::1]«:8080»/x", []string{`":8080" follows the address; leave the port out: hosts are compared without it`}},
		{"«[::1»/x", []string{`"[::1" is no IPv6 address in brackets; write it like [2001:db8::1], without a zone`}},
		{"«[fe80::1%25eth0]»/x", []string{`"[fe80::1%25eth0]" is no IPv6 address in brackets; write it like [2001:db8::1], without a zone`}},
		{"«[192.0.2.1]»/x", []string{`"[192.0.2.1]" is no IPv6 address in brackets; write it like [2001:db8::1], without a zone`}},
		{"«*.example»/", []string{`"*.example" is no host: it holds a wildcard; give each host a pattern of its own; for every host leave it out`}},
		{"«bücher.example»/", []string{`"bücher.example" is no host; write letters, digits, - and _ with dots between; other alphabets as xn--`}},
		{"«a..b»/", []string{`"a..b" is no host; write letters, digits, - and _ with dots between; other alphabets as xn--`}},
		{"/a«//»b", []string{`"//" is one slash in every path; write /`}},
		{"/a/«..»/b", []string{`".." is a dot segment, and paths are compared without; write the path that it leads to`}},
		{"/a/«%2e»", []string{`"%2e" is a dot segment, and paths are compared without; write the path that it leads to`}},
		{"/«a%2Fb»", []string{`"a%2Fb" is in no canonical path: encoded slash; write / between segments; a segment cannot hold one`}},
		{`/«a\b»`, []string{`"a\\b" is in no canonical path: backslash; write / between segments; a segment cannot hold a backslash`}},
		{"/«a%00»", []string{`"a%00" is in no canonical path: control byte; leave it out`}},
		{"/«100%»", []string{`"100%" is in no canonical path: invalid escape; write %25 for a percent sign`}},
		{"/«a?b=c»", []string{`"a?b=c" is in no canonical path: raw ? or #; end the pattern before the query, or write %3F or %23`}},
		{"/«;x»", []string{`";x" is in no canonical path: parameters without a segment; leave out the semicolon and what follows it`}},
		{"/«a;x»", []string{`"a;x" has parameters, and paths are compared without; leave out the semicolon and what follows it`}},
		{"/«a%3Bx»", []string{`"a%3Bx" has parameters, and paths are compared without; leave out the semicolon and what follows it`}},
		{"/«a b»", []string{`"a b" holds a space; leave it out, or write %20`}},
		{"«POST /login, GET /login»", []string{`"POST /login, GET /login" is more than one pattern; several patterns are a list: [POST /login, GET /login]`}},
		{"«/a, /b/,GET api.example/c»", []string{`"/a, /b/,GET api.example/c" is more than one pattern; several patterns are a list: [/a, /b/, GET api.example/c]`}},
		{"«POST,PUT» /a", []string{`"POST,PUT" is not one method; give each method a pattern of its own; for every method leave it out`}},
		{"/«a, b»", []string{`"a, b" holds a space; leave it out, or write %20`}},
		{"/api/«*»", []string{`"*" is no wildcard; write {name} for one segment, end the pattern with / for all below, or write %2A for an asterisk`}},
		{"/users/«:id»", []string{`":id" is no wildcard; write {id}, or begin with %3A for a colon`}},
		{"/«a{id}»", []string{`"a{id}" is more than a wildcard; give the wildcard a segment of its own: /{name}/`}},
		{"/«{id}{x}»", []string{`"{id}{x}" is more than a wildcard; give the wildcard a segment of its own: /{name}/`}},
		{"/«{id»/x", []string{`"{id" has a brace without its other half; write {name}, or %7B and %7D for braces`}},
		{"/«{}»", []string{`"{}" has no name; write {name}`}},
		{"/«{...}»", []string{`"{...}" has no name; write {name}`}},
		{"/«{2x}»", []string{`"{2x}" has a name that is none; write letters, digits and _, a digit not first`}},
		{"/«{a-b}»", []string{`"{a-b}" has a name that is none; write letters, digits and _, a digit not first`}},
		{"/{id}/«{id}»", []string{`"{id}" has the name of another wildcard; give each its own`}},
		{"/{id}/«{id...}»", []string{`"{id...}" has the name of another wildcard; give each its own`}},
		{"/«{$}»/x", []string{`"{$}" is not at the end; leave out what follows it`}},
		{"/«{x...}»/", []string{`"{x...}" is not at the end; leave out what follows it, or write {x} for one segment`}},
		{"«get» a«:80»/«..»«//»«{}»", []string{
			`"get" is not in capitals; write GET`,
			`":80" is a port; leave it out: hosts are compared without it`,
			`".." is a dot segment, and paths are compared without; write the path that it leads to`,
			`"//" is one slash in every path; write /`,
			`"{}" has no name; write {name}`,
		}},
		{"«get» login«»", []string{`"get" is not in capitals; write GET`, `it has no path; write GET /login`}},
	} {
		checkMistakes(t, c.marked, c.want)
	}
}

// What globs, regular expressions, routers and other files have.
func TestOtherNotations(t *testing.T) {
	const regexp = " looks like a regular expression, and patterns are none; "
	for _, c := range []struct {
		marked string
		want   []string
	}{
		{"/api/«.*»", []string{`".*"` + regexp + `write {name} for the whole segment, or end the pattern with / for all below; %2A is an asterisk`}},
		{"/«.*»/x", []string{`".*"` + regexp + `write {name} for the whole segment; %2A is an asterisk`}},
		{"/api/«(.*)»", []string{`"(.*)"` + regexp + `write {name} for the whole segment, or end the pattern with / for all below; %2A is an asterisk`}},
		{"/api/«.+»", []string{`".+"` + regexp + `write {name} for the whole segment, or end the pattern with / for all below; %2B is a plus sign`}},
		{"/users/«[0-9]+»", []string{`"[0-9]+"` + regexp + `write {name} for the whole segment, or end the pattern with / for all below, or %5B and %5D for brackets`}},
		{`/users/«\d+»`, []string{`"\\d+"` + regexp + `write {name} for the whole segment, or end the pattern with / for all below`}},
		{"/api/«(v1|v2)»/x", []string{`"(v1|v2)"` + regexp + `give each alternative a pattern of its own, or write %7C for the bar`}},
		{"/login/«?»", []string{`"?"` + regexp + `leave it and the slash before it out`}},
		{"«^»/api", []string{`"^"` + regexp + `leave it out: a pattern is compared from the first slash on`}},
		{"/«^api»", []string{`"^api" is in no path as it stands; leave it out, or write %5E for ^, %3C and %3E for < and >`}},
		{"/img/«*.png»", []string{`"*.png" holds an asterisk, which is no wildcard; write {name} for the whole segment, or end the pattern with / for all below, or %2A for an asterisk`}},
		{"/«v*»/x", []string{`"v*" holds an asterisk, which is no wildcard; write {name} for the whole segment, or %2A for an asterisk`}},
		{"/api/«...»", []string{`"..." is no wildcard; end the pattern with / for all below, write {name} for one segment, or %2E for each dot`}},

		{"/users/«<id>»", []string{`"<id>" is no wildcard; write {id}, or %3C and %3E for the signs`}},
		{"/users/«<int:id>»/x", []string{`"<int:id>" is no wildcard; write {id}, or %3C and %3E for the signs`}},
		{"/users/«<user-id>»", []string{`"<user-id>" is no wildcard; write {name}, or %3C and %3E for the signs`}},
		{"/users/«[id]»", []string{`"[id]" is no wildcard; write {id}, or %5B and %5D for brackets`}},
		{"/docs/«[...page]»", []string{`"[...page]" is no wildcard; write {page...}, or %5B and %5D for brackets`}},
		{"/docs/«:page*»", []string{`":page*" is no wildcard; write {page...}, or begin with %3A for a colon`}},
		{"/users/«{id:int}»", []string{`"{id:int}" has a name that is none; write {id}: it fits any one segment`}},
		{"/users/«{id:[0-9]+}»", []string{`"{id:[0-9]+}" has a name that is none; write {id}: it fits any one segment`}},
		{"/users/«{id?}»", []string{`"{id?}" has a name that is none; write {id}: it fits any one segment`}},
		{"/files/«{path:path}»", []string{`"{path:path}" has a name that is none; write {path...}`}},
		{"/files/«{path:.*}»", []string{`"{path:.*}" has a name that is none; write {path...}`}},
		{"/files/«{proxy+}»", []string{`"{proxy+}" has a name that is none; write {proxy...}`}},
		{"/files/«{*path}»", []string{`"{*path}" has a name that is none; write {path...}`}},

		{"*«»", []string{`it has no path; write / for every request`}},
		{"POST .*«»", []string{`it has no path; write POST / for every path`}},
		{"login*«»", []string{`it has no path; write the path with the slash that it begins with`}},
		{"/«healthz GET»", []string{`"healthz GET" has the method behind it; write GET /healthz`}},
		{"api.example/a/«b post»", []string{`"b post" has the method behind it; write POST api.example/a/b`}},
		{"/«a GET b»", []string{`"a GET b" holds a space; leave it out, or write %20`}},
		{"/«a b GET»", []string{`"a b GET" holds a space; leave it out, or write %20`}},
		{"«GET,»/x", []string{`"GET," is a method with something behind it; write GET /x`}},
		{"«GET,» /x", []string{`"GET," is a method with something behind it; write GET /x`}},
		{"«GET:»/x", []string{`"GET:" is a method with something behind it; write GET /x`}},
	} {
		checkMistakes(t, c.marked, c.want)
	}
}

// What is told to be written can be: every remedy of the form `write PATTERN`.
func TestPatternRemedies(t *testing.T) {
	read := 0
	for _, text := range []string{
		"login", "POST login", "*", "POST", "GET *", "login*", "GET,/x", "/healthz GET", "/a b GET", "api.example", "GET/login", ".*", "^", "a|b",
	} {
		_, err := ParsePattern(text)
		for _, e := range mistakes(err) {
			written, ok := strings.CutPrefix(e.Remedy, "write ")
			written, _, _ = strings.Cut(written, " for every")
			if !ok || !strings.Contains(written, "/") {
				continue
			}
			if _, err := ParsePattern(written); err != nil {
				t.Errorf("%s: %v", e.Error(), err)
			}
			read++
		}
	}
	if read < 8 {
		t.Errorf("only %d remedies were read", read)
	}
}

func checkMistakes(t *testing.T, marked string, want []string) {
	t.Helper()
	text := strings.NewReplacer("«", "", "»", "").Replace(marked)
	p, err := ParsePattern(text)
	got := mistakes(err)
	if p != nil || len(got) != len(want) {
		t.Errorf("%q: %v, %v", text, p, err)
		return
	}
	var lines []string
	for i, e := range got {
		_, line, _ := strings.Cut(e.Error(), `": `)
		lines = append(lines, line)
		before, after, _ := strings.Cut(marked, "»")
		place := strings.Index(before, "«")
		if e.Offset != place || e.Len != len(before)-place-len("«") || e.Pattern != text {
			t.Errorf("%q: mistake %d stands at %d, %d long", text, i, e.Offset, e.Len)
		}
		marked = strings.Replace(before, "«", "", 1) + after
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q:\n%q, want\n%q", text, lines, want)
	}
}

func TestPatternErrorIsOneLine(t *testing.T) {
	_, err := ParsePattern("/a\nb")
	want := `pattern "/a\nb": "a\nb" is in no canonical path: control byte; leave it out`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHosts(t *testing.T) {
	s := set(t, Options{}, "api.example/", "[2001:db8::1]/", "192.0.2.1/", "/")
	for host, want := range map[string][]int{
		"api.example":                {0, 3},
		"API.example:8443":           {0, 3},
		"api.example.":               {0, 3},
		"api.example.:80":            {0, 3},
		"api.example..":              {3},
		"xapi.example":               {3},
		"[2001:db8::1]":              {1, 3},
		"[2001:DB8:0:0::1]:443":      {1, 3},
		"[2001:db8::1%25eth0]":       {3},
		"[2001:db8::1":               {3},
		"2001:db8::1":                {3},
		"192.0.2.1:80":               {2, 3},
		"[192.0.2.1]":                {3},
		"":                           {3},
		":":                          {3},
		"[":                          {3},
		"[]":                         {3},
		"user@api.example":           {3},
		strings.Repeat("a.", 1<<16):  {3},
		"[" + strings.Repeat(":", 9): {3},
	} {
		matches(t, s, "GET", host, read(t, "/x", Options{}), want...)
	}
}

func TestValues(t *testing.T) {
	p := parse(t, "/users/{id}/files/{path...}")
	for _, c := range []struct {
		escaped, id, path string
		options           Options
	}{
		{"/users/42/files/a/b", "42", "a/b", Options{}},
		{"/users/42/files", "42", "", Options{}},
		{"/users/%34%32/files//a//b/", "42", "a/b", Options{}},
		{"/users/42;v=1/files/a;v=1/b", "42", "a/b", Options{}},
		{"/USERS/Joe/files/A", "joe", "a", Options{Fold: true}},
		{"/users/a%2Fb/files/c", "a/b", "c", Options{Pass: true}},
		{"/users/42/files/a/", "42", "a", Options{KeepSlash: true}},
	} {
		path := read(t, c.escaped, c.options)
		id, ok := p.Value(path, "id")
		rest, too := p.Value(path, "path")
		if id != c.id || rest != c.path || !ok || !too {
			t.Errorf("%q: id %q (%v), path %q (%v)", c.escaped, id, ok, rest, too)
		}
		for _, name := range []string{"", "users", "other"} {
			if v, ok := p.Value(path, name); ok {
				t.Errorf("%q: %q is %q", c.escaped, name, v)
			}
		}
	}
	if v, ok := p.Value(read(t, "/other/42/files/a", Options{}), "id"); ok {
		t.Errorf("a path that does not fit: %q", v)
	}
	if v, ok := parse(t, "/{all...}").Value(read(t, "*", Options{}), "all"); v != "" || !ok {
		t.Errorf("of no path: %q, %v", v, ok)
	}
}

func TestAllocationsOfPlainValue(t *testing.T) {
	p := parse(t, "/users/{id}/{path...}")
	path := read(t, "/users/42/a/b", Options{})
	for _, name := range []string{"id", "path"} {
		if n := testing.AllocsPerRun(100, func() { p.Value(path, name) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
