package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir"
)

// fitsFile has limits wherever they may be written.
const fitsFile = `version: 1
plans:
  free: 1/s
  paid: [{name: burst, limit: 7/s}, 9/min block 5m]
rules:
  - {name: one, limit: 2/s block 1m, max_keys: 1000}
  - {name: some, limits: [3/s, {name: day, limit: 4/day}], max_keys: 20000}
  - {name: planned, plan: "header:X-Plan", default_plan: free}
client_ip: {trusted_proxies: [10.0.0.0/8], header: X-Forwarded-For, trusted_headers: [X-Plan]}
`

// What a store does not take is noted where it is written: each limit at its text, and
// what all rules keep at the last that keeps something.
func TestMisfitsHaveTheirPlace(t *testing.T) {
	limit := func(p *Policy, text string) *weir.Limit {
		all := p.Limits()
		return all[slices.IndexFunc(all, func(l *weir.Limit) bool { return l.String() == text })]
	}
	for _, c := range []struct {
		text, want string
	}{
		{"2/s block 1m", "6:24"},
		{"3/s", "7:27"},
		{"4/day", "7:51"},
		{"1/s", "3:9"},
		{"7/s", "4:31"},
		{"9/min block 5m", "4:37"},
		{"", "7:70"},
	} {
		for _, severity := range []Severity{Error, Warning} {
			p, found := Load(Source{Name: "-", Stdin: []byte(fitsFile), Fits: func(p *Policy) Fit {
				m := Misfit{Severity: severity, Message: "misfit", Hint: "a remedy"}
				if c.text != "" {
					m.Limit = limit(p, c.text)
				}
				return Fit{Misfits: []Misfit{m}}
			}})
			i := slices.IndexFunc(found, func(d Diagnostic) bool { return d.Message == "misfit" })
			if i < 0 {
				t.Errorf("%q: nothing was noted: %v", c.text, found)
				continue
			}
			d, code := found[i], map[Severity]string{Error: "no-room", Warning: "little-room"}[severity]
			if got := fmt.Sprintf("%d:%d", d.Line, d.Column); got != c.want || d.Code != code || d.Severity != severity || d.Hint != "a remedy" {
				t.Errorf("%q: noted at %s as %s, want %s: %+v", c.text, got, d.Code, c.want, d)
			}
			if (p == nil) != (severity == Error) {
				t.Errorf("%q: severity %s, and the policy %v", c.text, severity, p)
			}
		}
	}
}

// A store is asked about rules that are right in all else, and not about others.
func TestFitsIsAskedOnceOfWhatCompiles(t *testing.T) {
	for text, want := range map[string]int{fitsFile: 1, "version: 1\nrules: [{name: a, limit: 1/s}, {name: a, limit: 1/s}]": 0, "version: [": 0} {
		asked := 0
		Load(Source{Name: "-", Stdin: []byte(text), Fits: func(*Policy) Fit { asked++; return Fit{} }})
		if asked != want {
			t.Errorf("asked %d times, want %d, about\n%s", asked, want, text)
		}
	}
}

// A table that is tried changes nothing of the policy.
func TestWithMaxKeys(t *testing.T) {
	p, err := Compile(Config{Version: 1, Memory: Memory{MaxKeys: 5000}, Rules: []Rule{{Name: "a", Limit: "1/s", MaxKeys: 100}}})
	if err != nil {
		t.Fatal(err)
	}
	q := p.withMaxKeys(80_000)
	if p.Config().Memory.MaxKeys != 5000 || q.Config().Memory.MaxKeys != 80_000 || q.Limits()[0] != p.Limits()[0] {
		t.Errorf("%+v, %+v", p.Config().Memory, q.Config().Memory)
	}
	if was, is := p.reserved([]string{"take"})["take"], q.reserved([]string{"take"})["take"]; is <= was {
		t.Errorf("a guest has %d of the table, and %d of a larger one", was, is)
	}
}
