package doctest

import (
	"slices"
	"strings"
	"testing"
)

// page writes a page with ”' in the place of the fences.
func page(text string) string { return strings.ReplaceAll(text, "'''", "```") }

func TestParse(t *testing.T) {
	p, err := Parse("a.md", page(`# A page

'''yaml
# file: weir.yaml
version: 1
'''

1. In a list:

   '''console
   $ weir check \
       weir.yaml
   weir.yaml: ok
     and more
   $ false
   $ echo $?
   1
   '''

'''yaml
rules: []
'''

'''text
anything
'''

'''console
$ weir serve weir.yaml &
'''
`))
	if err != nil {
		t.Fatal(err)
	}
	f := func(i int, want Step) {
		t.Helper()
		got := p.Steps[i]
		if got.Line != want.Line || got.File != want.File || got.Text != want.Text || got.Fails != want.Fails || !slices.Equal(got.Output, want.Output) {
			t.Errorf("step %d: %+v, want %+v", i, got, want)
		}
	}
	f(0, Step{Line: 4, File: "weir.yaml", Text: "# file: weir.yaml\nversion: 1\n"})
	f(1, Step{Line: 11, Text: "weir check \\\n    weir.yaml", Output: []string{"weir.yaml: ok", "  and more"}})
	f(2, Step{Line: 15, Text: "false", Fails: true})
	f(3, Step{Line: 16, Text: "echo $?", Output: []string{"1"}})
	f(4, Step{Line: 29, Text: "weir serve weir.yaml &"})
	if len(p.Steps) != 5 || len(p.Fragments) != 1 || p.Fragments[0] != (Fragment{21, "rules: []\n"}) {
		t.Errorf("%+v", p)
	}
	if !p.Steps[4].background() || p.Steps[1].background() {
		t.Error("which commands go on in the background")
	}
}

// What could never be run is a mistake of the page.
func TestPagesThatRunNothing(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		if _, err := Parse("a.md", page(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	f("a.md: there is no command to run", "# A page\n")
	f("a.md: there is no command to run", "'''yaml\n# file: weir.yaml\nversion: 1\n'''\n")
	f("a.md:2: the block is never run: it is empty", "'''console\n'''\n")
	f("a.md:2: the block is never run: its first line is no command", "'''console\nweir check\n'''\n'''console\n$ true\n'''\n")
	f("a.md:2: the block is never run: make it a console block", "'''sh\nweir check\n'''\n'''console\n$ true\n'''\n")
	f("a.md:3: the command after it does not wait until it answers", "'''console\n$ weir serve a.yaml &\n$ weir serve b.yaml &\n$ curl localhost:8000/\n'''\n")
	f("a.md:2: the block has no end", "'''console\n$ true\n")
}

func TestLooks(t *testing.T) {
	f := func(want bool, command string) {
		t.Helper()
		if got := (&Step{Text: command}).looks(); got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
	f(true, "grep refused weir.log")
	f(true, "curl -s localhost:9090/metrics | grep weir_keys")
	f(false, "curl -s localhost:8000/metrics")
	f(false, "curl -s localhost:8000/a | curl localhost:9090/metrics")
	f(false, "weir check weir.yaml")
	f(false, "egrep refused weir.log")
}

func TestPorts(t *testing.T) {
	p := Ports{"8000": "20001", "8080": "20002", "9090": "20003", "3000": "20004"}
	f := func(want, text string) {
		t.Helper()
		if got := p.Rewrite(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	f("curl localhost:20001/ localhost:20002", "curl localhost:8000/ localhost:8080")
	f("proxy: :20001 # port 20004", "proxy: :8000 # port 3000")
	f("127.0.0.1:20003,[::1]:20003", "127.0.0.1:9090,[::1]:9090")
	f("limit: 8000/s, :80001, 3000 callers, :8081", "limit: 8000/s, :80001, 3000 callers, :8081")
}

func TestFreePorts(t *testing.T) {
	p, err := Free(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, port := range p {
		seen[port] = true
	}
	if len(p) != 4 || len(seen) != 4 || p.open(t.Context()) != 0 {
		t.Errorf("%v, %d of them taken", p, p.open(t.Context()))
	}
}
