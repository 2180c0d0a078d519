package policy

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// wideText is a text in UTF-16, without a mark of its order.
func wideText(text string, big bool) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		if big {
			b = append(b, byte(c>>8), byte(c))
		} else {
			b = append(b, byte(c), byte(c>>8))
		}
	}
	return string(b)
}

// What is no text of ours is called what it is, where it stands.
func TestStrangeCharacters(t *testing.T) {
	const file = "version: 1\nrules:\n  - name: a\n    key: ip\n    limit: 5/s\n"
	with := func(part, instead string) string { return strings.Replace(file, part, instead, 1) }
	for _, c := range []struct {
		what, text    string
		line          int
		message, hint string // how they begin; no message: the file is taken
	}{
		{"a no-break space behind a colon", with("key: ip", "key:\u00a0ip"), 4, "the character U+00A0, which looks like a space and is none", "write a space"},
		{"one behind a value", with("ip", "ip\u00a0"), 4, "the character U+00A0", "write a space"},
		{"some that indent", with("    key", "\u00a0\u00a0\u00a0\u00a0key"), 4, "the character U+00A0", "write a space"},
		{"a wide space", with("key: ip", "key:\u3000ip"), 4, "the character U+3000, which looks like a space", `write a space; if it is meant, "\u3000" in double quotes`},
		{"one in a comment", with("ip", "ip # a\u00a0comment"), 0, "", ""},
		{"one in a comment of its own line", "#\u00a0a comment\n" + file, 0, "", ""},
		{"one that is written as the hint says", with("limit: 5/s", `limit: 5/s`+"\n    refuse: {detail: \"a\\u00a0b\"}"), 0, "", ""},
		{"a space of no width", with("ip", "ip\u200b"), 4, "the character U+200B, which is not seen", "leave it out"},
		{"a mark in the middle", with("ip", "\ufeffip"), 4, "the character U+FEFF, which is not seen", "leave it out"},
		{"a mark at the beginning", "\ufeff" + file, 0, "", ""},
		{"UTF-16", wideText(file, false), 1, "this is text in UTF-16", "save it as UTF-8"},
		{"the other UTF-16", wideText(file, true), 1, "this is text in UTF-16", "save it as UTF-8"},
		{"UTF-16 that begins with a line's end", wideText("\n"+file, false), 1, "this is text in UTF-16", "save it as UTF-8"},
		{"UTF-16 with a mark", wideText("\ufeff"+file, false), 1, "this is text in UTF-16", "save it as UTF-8"},
		{"the other with a mark", wideText("\ufeff"+file, true), 1, "this is text in UTF-16", "save it as UTF-8"},
		{"one NUL", with("ip", "ip\x00"), 4, "the character U+0000", "leave it out"},
		{"lines that end as on old machines", strings.ReplaceAll(file, "\n", "\r"), 1, "a carriage return without a line feed", "end lines with a line feed"},
		{"lines that end as on other machines", strings.ReplaceAll(file, "\n", "\r\n"), 0, "", ""},
	} {
		_, found := loadText(c.text)
		switch {
		case c.message == "":
			if found != nil {
				t.Errorf("%s: %v", c.what, found)
			}
		case !slices.Equal(codes(found), []string{"bad-character"}), found[0].Line != c.line,
			!strings.HasPrefix(found[0].Message, c.message), !strings.HasPrefix(found[0].Hint, c.hint):
			t.Errorf("%s: %v", c.what, found)
		}
	}
}

// A number with underscores is read as other tools do, and one that nobody can read is not.
func TestNumbersWithUnderscores(t *testing.T) {
	for text, want := range map[string]string{
		"1_000": "write 1000", "1_000_000": "write 1000000", "10_0": "write 100", "0_100": "write 100", "1000_": "write 1000",
		"1e3": "write digits only, such as 64", "1k": "write digits only, such as 64", "___": "write digits only, such as 64", "-1_000": "write digits only, such as 64",
	} {
		_, found := loadText("version: 1\nmemory: {max_keys: " + text + "}\n")
		if len(found) != 1 || found[0].Code != "bad-number" || found[0].Hint != want {
			t.Errorf("%s: %v", text, found)
			continue
		}
		if number := strings.TrimPrefix(want, "write "); !strings.Contains(want, "such") {
			if _, found := loadText("version: 1\nmemory: {max_keys: " + number + "}\n"); found != nil {
				t.Errorf("%s is not taken: %v", number, found)
			}
		}
	}
}
