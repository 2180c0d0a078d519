package policy

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// widestLine is how many columns of a source line are shown: one line of a
// terminal, with the gutter.
const widestLine = 100

// paint holds the escape sequences that colour a diagnostic; all are empty
// without colour.
type paint struct{ error, warning, gutter, hint, plain string }

func paints(color bool) paint {
	if !color {
		return paint{}
	}
	return paint{error: "\x1b[1;31m", warning: "\x1b[1;33m", gutter: "\x1b[34m", hint: "\x1b[36m", plain: "\x1b[0m"}
}

// Print writes each with its line, a caret under the place, and the hint:
//
//	weir.yaml:12:12: error: unit month: months differ in length [bad-limit]
//	   12 |     limit: 5/month
//	      |              ^^^^^
//	      = add "calendar ZONE", or write "per 30d"
//
// Carets stand right whatever tabs and wide characters come before them; control
// characters are shown as \x1b, long lines are cut around the caret. The error is
// the writer's.
func (d Diagnostics) Print(w io.Writer, color bool) error {
	var b strings.Builder
	for i := range d {
		if i > 0 {
			b.WriteByte('\n')
		}
		d[i].print(&b, paints(color))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Diagnostic) print(b *strings.Builder, p paint) {
	tint := p.error
	if d.Severity == Warning {
		tint = p.warning
	}
	where := d.where()
	if where != "" {
		where += ": "
	}
	fmt.Fprintf(b, "%s%s%s%s: %s [%s]\n", where, tint, d.Severity, p.plain, visible(d.Message), d.Code)
	if d.Line > 0 {
		before, under, after := excerpt(d.Text, d.Column-1, d.Length)
		carets := strings.Repeat(" ", columns(before)) + tint + strings.Repeat("^", max(1, columns(under))) + p.plain
		line := strings.TrimRight(before+under+after, " ")
		fmt.Fprintf(b, "%s%5d |%s %s\n", p.gutter, d.Line, p.plain, line)
		fmt.Fprintf(b, "%s%5s |%s %s\n", p.gutter, "", p.plain, carets)
	}
	if d.Hint != "" {
		fmt.Fprintf(b, "%s%5s =%s %s%s%s\n", p.gutter, "", p.plain, p.hint, visible(d.Hint), p.plain)
	}
}

// excerpt cuts a line into what stands before, under and behind the caret, as it
// is shown, and shortens what is too wide for a terminal.
func excerpt(text string, offset, length int) (before, under, after string) {
	text, offset = near(text, min(max(offset, 0), len(text)))
	end := min(offset+max(length, 1), len(text))
	before, under, after = visible(text[:offset]), visible(text[offset:end]), visible(text[end:])
	const ellipsis = "…"
	if columns(before+under+after) <= widestLine {
		return before, under, after
	}
	if columns(before) > widestLine/2 {
		before = ellipsis + last(before, widestLine/4)
	}
	if columns(under) > widestLine/2 {
		under, after = first(under, widestLine/2), ellipsis
	}
	if room := widestLine - columns(before+under); columns(after) > room {
		after = first(after, room-1) + ellipsis
	}
	return before, under, after
}

// near is the part of a text around an offset that may be shown, and the offset
// in it: a line may be as long as a file.
func near(text string, offset int) (part string, at int) {
	const enough = 8 * widestLine // bytes; characters have up to 4
	from := max(0, offset-enough)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(len(text), offset+enough)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return text[from:to], offset - from
}

// first is the beginning of a text, of at most so many columns.
func first(text string, most int) string {
	width := 0
	for i, r := range text {
		if width += columnsOf(r); width > most {
			return text[:i]
		}
	}
	return text
}

// last is the end of a text, of at most so many columns.
func last(text string, most int) string {
	width := 0
	for i := len(text); i > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if width += columnsOf(r); width > most {
			return text[i:]
		}
		i -= size
	}
	return text
}

// visible is a text as a terminal may be shown it: a tab is one space, other
// characters that act on a terminal or reorder what is read are written as
// escapes, and so are bytes that are no UTF-8.
func visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case hidden(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// hidden reports whether a character acts instead of being seen: controls, marks
// that turn the direction of writing, line separators.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// columns is how many cells of a terminal a text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

// columnsOf knows what takes no cell of its own and what takes two: combining
// marks, and the wide blocks of Unicode's East Asian Width (UAX #11) with the
// emoji.
func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, // Hangul initials
		r >= 0x2e80 && r <= 0x303e,   // CJK radicals and punctuation
		r >= 0x3041 && r <= 0xa4cf,   // kana, CJK ideographs, Yi
		r >= 0xac00 && r <= 0xd7a3,   // Hangul
		r >= 0xf900 && r <= 0xfaff,   // CJK compatibility
		r >= 0xfe30 && r <= 0xfe6f,   // CJK compatibility forms
		r >= 0xff00 && r <= 0xff60,   // full-width forms
		r >= 0xffe0 && r <= 0xffe6,   // full-width signs
		r >= 0x1f300 && r <= 0x1f64f, // pictographs, emoticons
		r >= 0x1f900 && r <= 0x1f9ff, // more pictographs
		r >= 0x20000 && r <= 0x3fffd: // CJK extensions
		return 2
	}
	return 1
}
