package weir_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// Several limits in one text are a list, whatever stands between them, and each of the
// list is what it was.
func TestSeveralLimits(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		e := one(t, text)
		list := strings.Join(want, ", ")
		if e.Field != "limit" || e.Offset != 0 || e.Problem != "one limit stands here" || e.Remedy != "in a rules file several are a list: ["+list+"]" {
			t.Errorf("%q: got %+v; want %s", text, e, list)
		}
		for _, l := range want {
			if s, err := weir.ParseSpec(l); err != nil || s.String() != l {
				t.Errorf("%q: %q reads as %q: %v", text, l, s, err)
			}
		}
	}
	f("5/s, 100/h", "5/s", "100/h")
	f("10/min, 3/h;", "10/min", "3/h")
	f("10/min; 3/h; ", "10/min", "3/h")
	f("5/s\n100/h\n", "5/s", "100/h")
	f("5 concurrent, 10/min", "5 concurrent", "10/min")
	f("10/min, 5 slots", "10/min", "5 concurrent")
	f("concurrent 5, 10/min", "5 concurrent", "10/min")
	f("100 req/min, 5/s", "100/min", "5/s")

	f("5/s 3 concurrent", "5/s", "3 concurrent")
	f("5/s and 3 concurrent", "5/s", "3 concurrent")
	f("5/s + 3 in flight", "5/s", "3 concurrent")
	f("5/s concurrent 3", "5/s", "3 concurrent")
	f("3 concurrent 5/s", "3 concurrent", "5/s")
	f("3 concurrent lease 30s 5/s burst 7", "3 concurrent lease 30s", "5/s burst 7")
	f("5 concurrent 10/min", "5 concurrent", "10/min")
	f("5/s 100/h", "5/s", "100/h")
	f("5/s & 100 per 2h", "5/s", "100 per 2h")
	f("5/s burst 10 100/h 1000/day", "5/s burst 10", "100/h", "1000/day")
	f("5/min block 10m and 3/h", "5/min block 10m", "3/h")

	f("100/s with 10 concurrent", "100/s", "10 concurrent")
	f("100/s, max 10 concurrent", "100/s", "10 concurrent")
	f("100/s max concurrent 10", "100/s", "10 concurrent")
	f("100/s and at most 10 concurrent", "100/s", "10 concurrent")
	f("100/min burst 20 concurrency 5", "100/min burst 20", "5 concurrent")
	f("100/min burst 20 max 10 concurrent", "100/min burst 20", "10 concurrent")
	f("1000/h 20 connections", "1000/h", "20 concurrent")
	f("5 per minute and 100 per day", "5/min", "100/day")
	f("1,000/h, 10/s", "1000/h", "10/s")
	f("1,000/h,10/s", "1000/h", "10/s")
	f("0.5/s, 100/h", "1 per 2s", "100/h")
	f("10/s or 100/min", "10/s", "100/min")
	f("10/s 100/hours", "10/s", "100/h")
	f("10/s | 100/min", "10/s", "100/min")
	f("10 req/s 100 req/min", "10/s", "100/min")
}

// Where a part cannot be read no list is made up, and none is left out in silence.
func TestSeveralLimitsThatAreNoList(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if e := one(t, text); e.Problem != "one limit stands here" || e.Remedy != want {
			t.Errorf("%q: got %+v, want %s", text, e, want)
		}
	}
	const one = "keep one: two of one period would have one name"
	f("5/s 5/s", one)
	f("5/s, 10/s", one)
	f("5 concurrent and 7 in flight", one)
	const example = "write each by itself; in a rules file several are a list"
	f("10 concurrent 100/min 5m", example)
	f("5/s burst 3 concurrent", example)
	f("5/s calendar 3 concurrent slots", example)
	f("5/fortnight, 100/h", example)
	f("5/s, 0/h", example)
	f("5/s, 4503599627370495/h", example)
}

// What begins no second limit is no list.
func TestNoSeveralLimits(t *testing.T) {
	for text, want := range map[string]string{
		"5/s concurrent":        `write "5 concurrent" in place of a rate`,
		"5/s, burst 7":          "leave it out",
		"unlimited, deny":       "leave it out",
		"5/s burst 3 per minut": "the options are",
		"5/s wait 5 s":          "write 5s",
	} {
		_, err := weir.ParseSpec(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a list") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// A mark that ends a word is dropped, and is the only mistake.
func TestMarksBehindWords(t *testing.T) {
	for text, want := range map[string]string{
		"10/min, burst 5":               "10/min burst 5",
		"10/min burst 5,":               "10/min burst 5",
		"100/h;":                        "100/h",
		"100/h.":                        "100/h",
		"5 per 30s; burst 7":            "5 per 30s burst 7",
		"5/day calendar Europe/Berlin,": "5/day calendar Europe/Berlin",
		"unlimited;":                    "unlimited",
		"5 concurrent, lease 30s":       "5 concurrent lease 30s",
		"5, concurrent":                 "5 concurrent",
		"5/s , burst 7":                 "5/s burst 7",
		"5/s fixed-window; spread":      "5/s fixed-window spread",
	} {
		e := one(t, text)
		if e.Remedy != "leave it out" || !strings.Contains(",;.", e.Value) || strings.Contains(e.Problem, "comma") != (e.Value == ",") {
			t.Errorf("%q: got %+v", text, e)
		}
		followed(t, text, e, want)
	}
}

// What looks like a space and is none is named, and nothing else is said.
func TestSpacesThatAreNone(t *testing.T) {
	f := func(text string, offset int, value, want string) {
		t.Helper()
		if e := one(t, text); e.Field != "limit" || e.Offset != offset || e.Value != value || e.Problem+"; "+e.Remedy != want {
			t.Errorf("%q: got %+v, want %s", text, e, want)
		}
	}
	const line = "there is a line break in it; write it in one line"
	f("10/min\n", 6, "", line)
	f("5/s\nburst 20\n", 3, "", line)
	f("5/s\r\nburst bust", 3, "", line)
	f("5/s\u00a0burst\u00a020", 3, "\u00a0", "U+00A0 is no plain space; write a plain space in its place")
	f("5/s\u3000burst 20", 3, "\u3000", "U+3000 is no plain space; write a plain space in its place")
	f("5/s\u200b", 3, "\u200b", "U+200B cannot be seen; leave it out")
	f("\ufeff5/s", 0, "\ufeff", "U+FEFF cannot be seen; leave it out")
}
