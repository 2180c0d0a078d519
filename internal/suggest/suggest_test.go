package suggest

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	words := []string{"limit", "limits", "listen", "on", "off"}
	f := func(text, want string) {
		t.Helper()
		if got := Closest(text, words...); got != want {
			t.Errorf("Closest(%q) = %q, want %q", text, got, want)
		}
	}
	f("limt", "limit")
	f("LIMITS", "limits")
	f("lisen", "listen")
	f("o", "") // as far from on as it is long
	f("", "")
	f("shadow", "")
	f("lmits", "limits")
	f("no", "")
	f("of", "") // two letters are another word as soon as one differs
	f(strings.Repeat("x", 1<<20), "")
	if got := DidYouMean("limt", words...); got != "did you mean limit?" {
		t.Errorf("DidYouMean(limt) = %q", got)
	}
	if got := DidYouMean("shadow", words...); got != "" {
		t.Errorf("DidYouMean(shadow) = %q", got)
	}
}

// A swap of neighbours is one slip, and a short word that shares two letters is none.
func TestSwapsAndShortWords(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Closest(text, "burst", "wait", "was", "lease", "deny"); got != want {
			t.Errorf("Closest(%q) = %q, want %q", text, got, want)
		}
	}
	f("wiat", "wait")
	f("brust", "burst")
	f("dney", "deny")
	f("bust", "burst")
	for _, other := range []string{"with", "ten", "day", "ban", "max", "tag"} {
		f(other, "")
	}
}

func TestSlip(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Slip(text, "GET", "POST", "PUT", "PATCH"); got != want {
			t.Errorf("Slip(%q) = %q, want %q", text, got, want)
		}
	}
	f("PSOT", "POST")
	f("GETT", "GET")
	f("PTCH", "PATCH")
	f("PIT", "PUT")
	f("PUT", "")
	f("put", "")
	f("PTACHE", "")
	f("PURGE", "")
}
