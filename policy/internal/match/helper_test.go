package match

import (
	"errors"
	"slices"
	"testing"
)

// parse reads a pattern that is right.
func parse(tb testing.TB, text string) *Pattern {
	tb.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// read parses a path that is not ambiguous, or let by.
func read(tb testing.TB, escaped string, o Options) *Path {
	tb.Helper()
	var p Path
	if a := p.Parse(escaped, o); a != None {
		tb.Fatalf("path %q: %v", escaped, a)
	}
	return &p
}

// set makes a set with one pattern for each rule; "" is a rule without.
func set(tb testing.TB, o Options, patterns ...string) *Set {
	tb.Helper()
	rules := make([][]*Pattern, len(patterns))
	for i, text := range patterns {
		if text != "" {
			rules[i] = []*Pattern{parse(tb, text)}
		}
	}
	return NewSet(rules, o)
}

// matches checks which rules a request fits.
func matches(t *testing.T, s *Set, method, host string, p *Path, want ...int) {
	t.Helper()
	if got := s.Match(method, host, p, nil); !slices.Equal(got, want) {
		t.Errorf("%s %s%s fits %v, want %v", method, host, p, got, want)
	}
}

// mistakes lists the errors that ParsePattern joined.
func mistakes(err error) []*PatternError {
	var list []*PatternError
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, e := range joined.Unwrap() {
		if mistake, ok := errors.AsType[*PatternError](e); ok {
			list = append(list, mistake)
		}
	}
	return list
}

// allOptions are all that paths can be compared by.
func allOptions() []Options {
	var list []Options
	for i := range 8 {
		list = append(list, Options{Pass: i&1 != 0, Fold: i&2 != 0, KeepSlash: i&4 != 0})
	}
	return list
}
