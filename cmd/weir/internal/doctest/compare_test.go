package doctest

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	f := func(ok bool, want, printed string) {
		t.Helper()
		if err := compare(strings.Split(want, "\n"), printed); (err == nil) != ok {
			t.Errorf("%q of %q: %v", printed, want, err)
		}
	}
	f(true, "", "")
	f(true, "", "\n\n")
	f(false, "", "something")
	f(false, "something", "")
	f(true, "a\nb", "a  \r\nb\n")
	f(false, "a\nb", "b\na\n")
	f(false, "a\nb", "a\n\nb\n")
	f(true, "…", "")
	f(true, "a\n…\nb", "a\nb")
	f(true, "a\n…\nb", "a\nb\na\n\nb")
	f(false, "a\n…\nb", "a\nb\nc")
	f(false, "a\n…\nb", "a\nc")
	f(true, "…\nb\n…\nb", "b\nb")
	f(false, "…\nb\n…\nb", "b")
	f(true, "took … s", "took 0.2 s")
	f(true, "took … s", "took  s")
	f(false, "took … s", "took 0.2 ms")
	f(false, "a…a", "a")
	f(true, "…b…b…", "abcbd")
	f(false, "…b…b…", "abcd")
	f(true, "at …", "at …")
}

// An expression says the same in another way.
func TestCompareAgainstExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ab…]{0,4}`)
		want := rapid.SliceOfN(line, 0, 5).Draw(t, "want")
		got := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,3}`), 0, 5).Draw(t, "got")
		var expr strings.Builder
		for _, w := range linesOf(strings.Join(want, "\n")) {
			if w == anything {
				expr.WriteString("(.*\n)*")
				continue
			}
			expr.WriteString(strings.ReplaceAll(regexp.QuoteMeta(w), anything, ".*") + "\n")
		}
		text := strings.Join(got, "\n") + "\n"
		if len(got) == 0 {
			text = ""
		}
		like := regexp.MustCompile("^(" + expr.String() + ")$").MatchString(text)
		if err := compare(want, text); (err == nil) != like {
			t.Fatalf("%q of %q: %v, the expression says %t", text, want, err, like)
		}
	})
}
