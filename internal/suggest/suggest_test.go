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
	f(strings.Repeat("x", 1<<20), "")
	if got := DidYouMean("limt", words...); got != "did you mean limit?" {
		t.Errorf("DidYouMean(limt) = %q", got)
	}
	if got := DidYouMean("shadow", words...); got != "" {
		t.Errorf("DidYouMean(shadow) = %q", got)
	}
}
