package match

import (
	"slices"
	"strings"
	"testing"
)

// spellings are paths for fuzzers to begin with.
func spellings() []string {
	return []string{
		"", "/", "*", "/login", "//login", "/login/", "/Login", "/%6cogin", "/a/../login", "/login;x=1", "/login%2F",
		"/login%00", "/..;/login", "/./login", "/a/%2e%2e/login", "/login%252F", `\login`, "/api/v1//jobs/./..", "/%",
		"/%2%2f", "/;/a", "/a/;", "/\xff%c3", "/\u212a\u2c65/%e2%84%aa", "/a?b#c", "a/b", "/%3b%3B", "/a%5c..%5cb",
	}
}

// FuzzPath checks what must hold of any path: it is read as the reference reads
// it; a refused one is ambiguous for the reference, too; and its canonical text
// is read as the same path, so that nothing in it depends on decoding twice.
func FuzzPath(f *testing.F) {
	for i, text := range spellings() {
		f.Add(text, uint8(i))
	}
	options := allOptions()
	f.Fuzz(func(t *testing.T, escaped string, choice uint8) {
		o := options[int(choice)%len(options)]
		var p Path
		refused := p.Parse(escaped, o)
		want := reference(escaped)

		if refused != None && o.Pass || refused != p.Ambiguous() && !o.Pass {
			t.Errorf("refused for %v, ambiguous for %v", refused, p.Ambiguous())
		}
		if p.found == None && len(want.ambiguous) > 0 || p.found != None && !want.ambiguous[p.found] {
			t.Errorf("found %v, the reference %v", p.found, want.ambiguous)
		}
		if p.open != want.open || p.star != want.star || !sameSegments(&p, want.segments, o.Fold) {
			t.Errorf("read as %q, by the reference as %q", p.String(), want.segments)
		}
		checkCanonical(t, &p, o)
	})
}

func sameSegments(p *Path, want []string, folded bool) bool {
	if len(p.segments) != len(want) {
		return false
	}
	for i, text := range want {
		if !same(string(p.segment(i)), text, folded) {
			return false
		}
	}
	return true
}

// checkCanonical reads a path's own text.
func checkCanonical(t *testing.T, p *Path, o Options) {
	t.Helper()
	var again Path
	again.Parse(p.String(), o)
	if again.String() != p.String() || again.open != p.open || again.star != p.star || !slices.EqualFunc(again.segments, p.segments,
		func(a, b span) bool { return a.start == b.start && a.end == b.end }) || string(again.buf) != string(p.buf) {
		t.Errorf("%q is read as %q", p, &again)
	}
	if p.found == None && again.found != None {
		t.Errorf("the canonical path %q has the ambiguity %v", p, again.found)
	}
	for i := range p.segments {
		s := string(p.segment(i))
		if s == "" || s == "." || s == ".." || strings.Contains(s, ";") {
			t.Errorf("a segment %q", s)
		}
		if p.found == None && strings.ContainsAny(s, "/\\\x00") {
			t.Errorf("a segment %q in a path that is not ambiguous", s)
		}
	}
}

// FuzzMatch compares Set.Match and Fits with the reference. A line is a rule,
// its patterns separated by spaces; "_" stands for the space in a pattern.
func FuzzMatch(f *testing.F) {
	rules := "POST_/login\n/api/ GET_/api/v1/{id}\n\n/{any}/x api.example/\n[::1]/{rest...}\n/{$}\n/LOGIN/\n/%c3%a4 /k"
	for i, text := range spellings() {
		f.Add(rules, "POST", "API.example.:80", text, uint8(i))
		f.Add("/{a}/{b} /a/\n/*\nHEAD_/ GET_/a", "HEAD", "[0::1]:80", text, uint8(i))
	}
	options := allOptions()
	f.Fuzz(func(t *testing.T, rules, method, host, escaped string, choice uint8) {
		o := options[int(choice)%len(options)]
		var path Path
		path.Parse(escaped, o)
		r := reference(escaped)

		var parsed [][]*Pattern
		var want []int
		for line := range strings.SplitSeq(rules, "\n") {
			var patterns []*Pattern
			fits := line == ""
			for text := range strings.FieldsSeq(line) {
				text = strings.ReplaceAll(text, "_", " ")
				p, err := ParsePattern(text)
				if err != nil {
					checkPlaces(t, text, err)
					continue
				}
				checkPattern(t, p)
				patterns = append(patterns, p)
				one := r.fits(text, method, host, o)
				fits = fits || one
				checkValues(t, p, &path, r)
				if p.Fits(method, host, &path) != one {
					t.Errorf("%s %s%s fits %s: %v, by the reference %v", method, host, escaped, text, !one, one)
				}
			}
			if line != "" && patterns == nil {
				continue
			}
			if fits {
				want = append(want, len(parsed))
			}
			parsed = append(parsed, patterns)
		}
		if got := NewSet(parsed, o).Match(method, host, &path, nil); !slices.Equal(got, want) {
			t.Errorf("%s %s%s fits %v, by the reference %v", method, host, escaped, got, want)
		}
	})
}

// checkValues compares what the wildcards stand for with the segments.
func checkValues(t *testing.T, p *Pattern, path *Path, r reading) {
	t.Helper()
	folded := path.options.Fold
	for i, s := range p.segments {
		if v, ok := p.Value(path, s.name); ok && !same(v, r.segments[i], folded) {
			t.Errorf("%s: %s is %q in %q", p, s.name, v, r.segments)
		}
	}
	if v, ok := p.Value(path, p.rest); ok && !same(v, strings.Join(r.segments[min(len(p.segments), len(r.segments)):], "/"), folded) {
		t.Errorf("%s: %s is %q in %q", p, p.rest, v, r.segments)
	}
}

// checkPlaces checks that every mistake is in the text, and says what to do.
func checkPlaces(t *testing.T, text string, err error) {
	t.Helper()
	list := mistakes(err)
	for i, e := range list {
		if i > 0 && e.Offset < list[i-1].Offset {
			t.Errorf("%q: mistakes out of order: %v", text, err)
		}
		if e.Pattern != text || e.Offset < 0 || e.Len < 0 || e.Offset+e.Len > len(text) || e.Problem == "" || e.Remedy == "" {
			t.Errorf("a mistake %+v in %q", e, text)
		}
	}
	if len(list) == 0 {
		t.Errorf("%q: no mistake in %v", text, err)
	}
}

// checkPattern reads a pattern's own text, and compares the pattern with itself.
func checkPattern(t *testing.T, p *Pattern) {
	t.Helper()
	again, err := ParsePattern(p.String())
	if err != nil || again.String() != p.String() || !slices.Equal(again.segments, p.segments) ||
		again.tail != p.tail || again.rest != p.rest || again.addr != p.addr {
		t.Errorf("%q is read as %v, %v", p, again, err)
	}
	for _, o := range allOptions() {
		if !Overlaps(p, p, o) || !Covers(p, p, o) {
			t.Errorf("%s does not cover itself", p)
		}
	}
}
