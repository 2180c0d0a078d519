package policy

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func printed(t testing.TB, color bool, d ...Diagnostic) string {
	t.Helper()
	var b bytes.Buffer
	if err := Diagnostics(d).Print(&b, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCarets(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		length int
		want   string
	}{
		{"limt: 1", 1, 4, "limt: 1\n^^^^"},
		{"a: b", 4, 1, "a: b\n   ^"},
		{"a: b", 5, 9, "a: b\n    ^"}, // behind the end
		{"\ta: b", 5, 1, " a: b\n    ^"},
		{"ä: b", 5, 1, "ä: b\n   ^"},
		{"名前: b", 9, 1, "名前: b\n      ^"},
		{"a: 名前", 4, 6, "a: 名前\n   ^^^^"},
		{"e\u0301: b", 6, 1, "e\u0301: b\n   ^"}, // e with a combining accent is one cell
		{"a: \x1b[31m", 4, 5, "a: \\x1b[31m\n   ^^^^^^^^"},
		{"\xff: b", 4, 1, "\\xff: b\n      ^"},
		{"", 1, 1, "\n^"},
	} {
		got := printed(t, false, Diagnostic{File: "f", Line: 7, Column: c.column, Length: c.length, Text: c.text, Code: "c", Message: "m"})
		source, carets, _ := strings.Cut(c.want, "\n")
		want := "f:7:" + itoa(c.column) + ": error: m [c]\n" + strings.TrimRight("    7 | "+source, " ") + " \n      | " + carets + "\n"
		if source != "" {
			want = strings.Replace(want, " \n      |", "\n      |", 1)
		}
		if got != want {
			t.Errorf("%q\ngot\n%s\nwant\n%s", c.text, got, want)
		}
	}
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestColor(t *testing.T) {
	d := Diagnostic{File: "f", Line: 1, Column: 1, Length: 1, Text: "a", Code: "c", Message: "m", Hint: "h"}
	const plain = "f:1:1: error: m [c]\n    1 | a\n      | ^\n      = h\n"
	colored := printed(t, true, d)
	if !strings.Contains(colored, "\x1b[1;31merror\x1b[0m") {
		t.Errorf("%q", colored)
	}
	if got := printed(t, false, d); got != plain || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	var bare strings.Builder
	for i, part := range strings.Split(colored, "\x1b[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		bare.WriteString(part)
	}
	if bare.String() != plain {
		t.Errorf("colours change the text: %q", bare.String())
	}
}

// Whatever stands in the line, what is printed is safe for a terminal, no wider
// than one, and has its caret under the place.
func TestPrintIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return -1
			}
			return r
		}, rapid.String().Draw(t, "line"))
		text = strings.Repeat(text, rapid.IntRange(1, 20).Draw(t, "times"))
		d := Diagnostic{
			File: "f", Line: 1, Text: text, Code: "c", Message: text, Hint: text,
			Column: rapid.IntRange(-1, len(text)+3).Draw(t, "column"),
			Length: rapid.IntRange(-1, len(text)+3).Draw(t, "length"),
		}
		var b bytes.Buffer
		if err := (Diagnostics{d}).Print(&b, false); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			t.Fatalf("not safe: %q", got)
		}
		lines := strings.Split(got, "\n")
		if width := columns(lines[1]); width > widestLine+10 {
			t.Fatalf("%d columns: %q", width, lines[1])
		}
		if !strings.Contains(lines[2], "^") {
			t.Fatalf("no caret: %q", got)
		}
	})
}

func TestStringIsOneLine(t *testing.T) {
	d := Diagnostic{Path: "rules[0].name", Code: "bad-name", Message: "name \"a\nb\"", Hint: "x\ty"}
	if got, want := d.String(), `rules[0].name: error: name "a\x0ab"; x y [bad-name]`; got != want {
		t.Errorf("%s", got)
	}
}

// Where one of two diagnostics says what the other does, by an alias, it is said
// once.
func TestSortedSaysThingsOnce(t *testing.T) {
	a := Diagnostic{File: "f", Line: 3, Column: 1, Code: "c", Message: "m", Path: "rules[0].limit"}
	b := a
	b.Path = "rules[1].limit"
	first := Diagnostic{File: "f", Line: 1, Column: 9, Code: "c", Message: "m", Severity: Warning}
	got := Diagnostics{a, b, first}.sorted(0)
	if len(got) != 2 || got[0].Line != 1 || got[1].Path != "rules[0].limit" {
		t.Errorf("%v", got)
	}
	var many Diagnostics
	for i := range 150 {
		many = append(many, Diagnostic{File: "f", Line: i + 1, Column: 1, Code: "c", Severity: Severity(i % 2)})
	}
	many = many.sorted(0)
	if len(many) != 101 || many[74].Severity != Error || many[75].Severity != Warning || many[100].Message != "and 50 more" {
		t.Errorf("%d: %v", len(many), many[100])
	}
}
