package reload

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/policy"
)

func TestRenamed(t *testing.T) {
	made := func(rules ...policy.Rule) *policy.Policy {
		for i := range rules {
			rules[i].Limit = "5/s"
		}
		p, err := policy.Compile(policy.Config{Version: 1, Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	old := made(policy.Rule{Name: "a"}, policy.Rule{Name: "b"}, policy.Rule{Name: "c"})
	f := func(p *policy.Policy, gone, added []string) {
		t.Helper()
		if g, a := renamed(old, p); !slices.Equal(g, gone) || !slices.Equal(a, added) {
			t.Errorf("gone %q, new %q; want %q, %q", g, a, gone, added)
		}
	}
	f(old, nil, nil)
	f(made(policy.Rule{Name: "c"}, policy.Rule{Name: "d"}), []string{"a", "b"}, []string{"d"})
	f(made(policy.Rule{Name: "x", Was: "a"}, policy.Rule{Name: "b"}, policy.Rule{Name: "c"}), nil, nil)
	old = made(policy.Rule{Name: "b", Was: "a"})
	f(made(policy.Rule{Name: "c", Was: "a"}), nil, nil)
	f(made(policy.Rule{Name: "c", Was: "b"}), []string{"b"}, []string{"c"})
	f(made(policy.Rule{Name: "b"}), []string{"b"}, []string{"b"})
}
