package header

import (
	"slices"
	"testing"
)

func TestString(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := appendString([]byte("x"), in)
		if !ok || string(got) != "x"+want {
			t.Errorf("%q: got %s, %v, want x%s", in, got, ok, want)
		}
	}
	f("", `""`)
	f("create-job/1s", `"create-job/1s"`)
	f(`say "when"`, `"say \"when\""`)
	f(`back\slash`, `"back\\slash"`)
	f(" ~", `" ~"`)

	refuse := func(in string) {
		t.Helper()
		if got, ok := appendString([]byte("x"), in); ok || string(got) != "x" {
			t.Errorf("%q: got %s, %v, want a refusal and nothing appended", in, got, ok)
		}
	}
	refuse("naïve")
	refuse("tab\t")
	refuse("line\n")
	refuse("a\x00b")
	refuse("del\x7f")
	refuse("\xff")
}

// The reference must be able to say no, or it proves nothing.
func TestReferenceRefuses(t *testing.T) {
	f := func(lines ...string) {
		t.Helper()
		if items, err := sfList(lines); err == nil {
			t.Errorf("%q: read as %v, want an error", lines, items)
		}
	}
	f(`"a";r=1,`)
	f(`"a";r=1,,"b"`)
	f(`"a" ;r=1`)
	f(`"a";R=1`)
	f(`"a";r=1.5`)
	f(`"a";r=1000000000000000`)
	f(`"a`)
	f(`"\a"`)
	f("\"\x7f\"")
	f(`"a" "b"`)
	f(`"a";r=`)
	f(`"a";`)

	items, err := sfList([]string{`"a";q=20; w=1`, `"b";pk=:cHs=:;x;y=?0;z=tok,7;n=-1`})
	if err != nil || len(items) != 3 || items[0].parameters["w"] != int64(1) || items[1].parameters["x"] != true ||
		items[1].parameters["z"] != sfToken("tok") || items[2].value != int64(7) || items[2].parameters["n"] != int64(-1) {
		t.Errorf("got %v, %v", items, err)
	}
}

func TestClamp(t *testing.T) {
	f := func(in, want int64) {
		t.Helper()
		if got := clamp(in); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	f(-1, 0)
	f(0, 0)
	f(maxInteger, maxInteger)
	f(maxInteger+1, maxInteger)
}

// Every text is either refused, and then holds what no String may, or read
// back as it was.
func FuzzStructuredString(f *testing.F) {
	for _, s := range []string{"", "create-job/1s", `a"b\c`, "naïve", "\x00", "\x7f", " ", `\`, `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		encoded, ok := appendString(nil, in)
		valid := !slices.ContainsFunc([]byte(in), func(c byte) bool { return c < ' ' || c > '~' })
		if ok != valid {
			t.Fatalf("%q: %v, want %v", in, ok, valid)
		}
		if !ok {
			return
		}
		items, err := sfList([]string{string(encoded)})
		if err != nil || len(items) != 1 || items[0].value != in || len(items[0].parameters) != 0 {
			t.Fatalf("%q: written as %s, read as %v, %v", in, encoded, items, err)
		}
	})
}
