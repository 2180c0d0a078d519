package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// loadText loads a text with an environment.
func loadText(text string, environ ...string) (*Policy, Diagnostics) {
	return Load(Source{Name: "-", Stdin: []byte(text), Environ: environ})
}

// codes are the codes of what was found.
func codes(found Diagnostics) (list []string) {
	for _, d := range found {
		list = append(list, d.Code)
	}
	return list
}

func wantCodes(t *testing.T, found Diagnostics, want ...string) {
	t.Helper()
	if !slices.Equal(codes(found), want) {
		t.Errorf("found %v, want %v:\n%v", codes(found), want, found)
	}
}

func TestLargeFiles(t *testing.T) {
	_, found := loadText("version: 1\n#" + strings.Repeat("x", 1<<20))
	wantCodes(t, found, "file-too-large")

	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for i := range 2001 {
		fmt.Fprintf(&b, "  - {name: r%d, match: /r%d, limit: 10/min}\n", i, i)
	}
	_, found = loadText(b.String())
	wantCodes(t, found, "too-much")
}

// As many rules as there may be, each to be compared with each other, load in a
// moment.
func TestManyRulesLoad(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  - {name: r%d, match: [/r%d/, \"POST /x/{a}/r%d\"], key: [ip, host], limit: %d/min}\n", i, i, i, i+1)
	}
	if _, found := loadText(b.String()); len(found) != 101 || found[0].Code != "no-wall" {
		t.Errorf("%d found: %v", len(found), found[0].String())
	}
}

func TestFilesAreRelativeToTheRulesFile(t *testing.T) {
	var asked []string
	s := Source{Name: "etc/weir.yaml", ReadFile: func(name string) ([]byte, error) {
		asked = append(asked, filepath.ToSlash(name))
		switch filepath.ToSlash(name) {
		case "etc/weir.yaml":
			return []byte("version: 1\nlisten: {http: {address: :8080, token: file:token}, ops: {address: :9090, token: file:/run/token}}"), nil
		case "etc/token", "/run/token":
			return []byte("0123456789abcdef0123456789abcdef\n"), nil
		}
		return nil, fs.ErrNotExist
	}}
	p, found := Load(s)
	if p == nil {
		t.Fatal(found)
	}
	want := []string{"etc/weir.yaml", "etc/token", "/run/token"}
	if !slices.Equal(asked, want) || !slices.Equal(p.Files(), want) {
		t.Errorf("asked for %q, kept %q", asked, p.Files())
	}
	if got := p.Token(p.Config().Listen.HTTP); got != "0123456789abcdef0123456789abcdef" {
		t.Errorf("token %q", got)
	}
}

func TestNoFile(t *testing.T) {
	p, found := Load(Source{Name: "no-such-file.yaml"})
	if p != nil || len(found) != 1 || found[0].String() != "no-such-file.yaml: error: cannot read the rules file: no such file or directory; name an existing file, or - for standard input [unreadable-file]" {
		t.Errorf("%v", found)
	}
	if _, ok := errors.AsType[Diagnostics](found.Err()); !ok {
		t.Error("the error is no Diagnostics")
	}
}

func TestDigest(t *testing.T) {
	digest := func(text string, environ ...string) string {
		t.Helper()
		p, found := loadText(text, environ...)
		if p == nil {
			t.Fatal(found)
		}
		return p.Digest()
	}
	const file = "version: 1\nlisten: {http: {address: :8080, token: env:T}}\n"
	base := digest(file, "T=0123456789abcdef0", "HOME=/a")
	if base != digest(file, "HOME=/b", "T=0123456789abcdef0") {
		t.Error("what does not matter changes the digest")
	}
	for _, other := range []string{
		digest(file+"#", "T=0123456789abcdef0"),
		digest(file, "T=0123456789abcdef1"),
		digest(file, "T=0123456789abcdef0", "WEIR_ENFORCE=off"),
	} {
		if other == base {
			t.Error("another policy has the same digest")
		}
	}
}

// A Config made in Go is held against the same ranges and words as a file.
func TestCompileChecksValues(t *testing.T) {
	_, err := Compile(Config{
		Version: 3,
		Enforce: "loud",
		Memory:  Memory{MaxKeys: -1, OnFull: "wait"},
		Headers: Headers{Jitter: -time.Second},
		ClientIP: ClientIP{Header: "X-Forwarded-For", TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.1/8"), {},
		}},
		Rules: []Rule{{Name: "a", Limit: "1/s", Cost: -5, Missing: "maybe", Refuse: &Refuse{Status: 99}}},
	})
	if _, ok := errors.AsType[Diagnostics](err); !ok {
		t.Fatal(err)
	}
	for _, want := range []string{
		"version: error: version is 1, not 3",
		"enforce: error: enforce is one of",
		"memory.max_keys: error: memory.max_keys is 64 to",
		"memory.on_full: error:",
		"headers.jitter: error: headers.jitter is 1us to 1h, not -1s",
		"client_ip.trusted_proxies[0]: error:",
		"client_ip.trusted_proxies[1]: error:",
		"rules[0].cost: error:",
		"rules[0].missing: error:",
		"rules[0].refuse.status: error:",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said in\n%v", want, err)
		}
	}
}

func TestZeroConfigIsAPolicy(t *testing.T) {
	p, err := Compile(Config{})
	if err != nil || len(p.Warnings()) > 0 {
		t.Fatal(err, p.Warnings())
	}
	l := p.Config().Listeners()
	if l.Proxy != nil || l.HTTP != nil || l.Ops.Address != "127.0.0.1:9090" || p.Token(l.Ops) != "" || p.TLS(l.Ops) != nil {
		t.Errorf("%+v", l)
	}
	l = (&Config{Upstream: "demo"}).Listeners()
	if l.Proxy == nil || l.Proxy.Address != ":8000" {
		t.Errorf("%+v", l)
	}
}

// The tags of the Config say what they mean to.
func TestTags(t *testing.T) {
	seen := 0
	visit(reflect.TypeFor[Config](), "", func(path string, f field) {
		seen++
		at := path + "." + f.name
		numeric := f.typ.Kind() == reflect.Int || f.typ.Kind() == reflect.Int64
		if numeric != (f.max > 0) || numeric && (f.min < 1 || f.min > f.max) {
			t.Errorf("%s: a number has a range from 1 on, and nothing else has: %d to %d", at, f.min, f.max)
		}
		if f.one && f.typ.Kind() != reflect.Slice {
			t.Errorf("%s is no list", at)
		}
		if strings.ToLower(f.name) != f.name {
			t.Errorf("%s is not in lower case", at)
		}
	})
	if seen < 60 {
		t.Errorf("only %d fields", seen)
	}
}

func TestJSON(t *testing.T) {
	_, found := loadText("version: 1\nenforce: shadwo\n")
	got, err := json.Marshal(found)
	const want = `[{"severity":"error","code":"unknown-word","path":"enforce","message":"enforce is one of on, shadow, off, not \"shadwo\"","hint":"did you mean shadow?","file":"stdin","line":2,"column":10,"length":6}]`
	if err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
}

// A folder of files with CRLF, a byte order mark, or neither gives the same
// Config.
func TestLineEnds(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := loadText(string(text))
	other, found := loadText("\ufeff" + string(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))))
	if other == nil || !reflect.DeepEqual(plain.Config(), other.Config()) {
		t.Error(found)
	}
}
