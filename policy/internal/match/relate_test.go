package match

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// texts joins every beginning with every word, n times over: "/a", "/a/b", ….
func texts(n int, words ...string) []string {
	level, all := []string{""}, []string{""}
	for range n {
		var next []string
		for _, before := range level {
			for _, w := range words {
				next = append(next, before+"/"+w)
			}
		}
		level, all = next, append(all, next...)
	}
	return all
}

// smallPaths are all paths of up to three segments: literals of the small
// patterns and one that none of them has.
func smallPaths() []string {
	paths := []string{"*"}
	for _, text := range texts(3, "a", "A", "b", "z") {
		paths = append(paths, text+"/")
		if text != "" {
			paths = append(paths, text)
		}
	}
	return paths
}

// smallPatterns are all path patterns of up to two segments, with each tail.
func smallPatterns() []string {
	var patterns []string
	for _, text := range texts(1, "a", "A", "b", "{x}") {
		for _, more := range texts(1, "a", "b", "{y}") {
			for _, end := range []string{"", "/", "/{rest...}", "/{$}"} {
				if text+more+end != "" {
					patterns = append(patterns, text+more+end)
				}
			}
		}
	}
	return patterns
}

// fitting says, for each pattern, which of the paths fit it, by the reference.
func fitting(patterns, paths []string, o Options) [][]bool {
	readings := make([]reading, len(paths))
	for i, path := range paths {
		readings[i] = reference(path)
	}
	table := make([][]bool, len(patterns))
	for i, pattern := range patterns {
		for _, r := range readings {
			table[i] = append(table[i], r.fits(pattern, "GET", "", o))
		}
	}
	return table
}

// relation says whether there is a request that fits a and b, and whether all
// that fit b fit a.
func relation(a, b []bool) (overlaps, covers bool) {
	covers = true
	for i := range a {
		overlaps = overlaps || a[i] && b[i]
		covers = covers && (a[i] || !b[i])
	}
	return overlaps, covers
}

// The paths are a segment longer than the patterns, and have one that no
// pattern names: what holds for them holds for all.
func TestRelationsOfAllSmallPaths(t *testing.T) {
	patterns, paths := smallPatterns(), smallPaths()
	parsed := make([]*Pattern, len(patterns))
	for i, text := range patterns {
		parsed[i] = parse(t, text)
	}
	for _, o := range []Options{{}, {Fold: true}, {KeepSlash: true}, {Fold: true, KeepSlash: true}} {
		table := fitting(patterns, paths, o)
		for i, a := range parsed {
			for j, b := range parsed {
				overlaps, covers := relation(table[i], table[j])
				if Overlaps(a, b, o) != overlaps || Covers(a, b, o) != covers {
					t.Fatalf("%+v: %s and %s overlap: %v, %s covers %s: %v; want %v, %v",
						o, a, b, Overlaps(a, b, o), a, b, Covers(a, b, o), overlaps, covers)
				}
			}
		}
	}
}

// With methods and hosts as well; few paths suffice.
func TestRelationsOfWholePatterns(t *testing.T) {
	methods, hosts := []string{"GET", "HEAD", "POST", "PUT"}, []string{"a.example", "b.example", "c.example"}
	patterns := texts(1, "a", "{x}", "{rest...}", "{$}", "")[1:]
	var readings []reading
	for _, text := range texts(2, "a", "z") {
		readings = append(readings, reference(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, values []string) string { return rapid.SampledFrom(values).Draw(t, label) }
		pattern := func() *Pattern {
			method := draw("method", []string{"", "GET ", "HEAD ", "POST "})
			p, err := ParsePattern(method + draw("host", []string{"", "a.example", "B.example"}) + draw("pattern", patterns))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		a, b := pattern(), pattern()
		var fitsA, fitsB []bool
		for _, r := range readings {
			for _, method := range methods {
				for _, host := range hosts {
					fitsA = append(fitsA, r.fits(a.String(), method, host, Options{}))
					fitsB = append(fitsB, r.fits(b.String(), method, host, Options{}))
				}
			}
		}
		overlaps, covers := relation(fitsA, fitsB)
		if Overlaps(a, b, Options{}) != overlaps || Covers(a, b, Options{}) != covers {
			t.Fatalf("%s and %s: overlap %v, cover %v; want %v, %v",
				a, b, Overlaps(a, b, Options{}), Covers(a, b, Options{}), overlaps, covers)
		}
		if !slices.Contains(fitsA, true) || !slices.Contains(fitsB, true) {
			t.Fatalf("%s or %s fits nothing", a, b)
		}
	})
}

func TestRelations(t *testing.T) {
	for _, c := range []struct {
		a, b                    string
		overlaps, covers, other bool // other: b covers a
	}{
		{"/", "POST a.example/x/{y...}", true, true, false},
		{"GET /x", "HEAD /x", true, true, false},
		{"/api/", "/api", true, true, false},
		{"/api/", "/api/{rest...}", true, true, true},
		{"/login", "/login/{$}", true, true, true},
		{"/{name}", "/login", true, true, false},
		{"/{a}/x", "/y/{b}", true, false, false},
		{"/a", "/b", false, false, false},
		{"POST /x", "GET /x", false, false, false},
		{"a.example/", "b.example/", false, false, false},
		{"[2001:db8::1]/", "[2001:DB8:0::1]/", true, true, true},
		{"/{$}", "/{name}", false, false, false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if Overlaps(a, b, Options{}) != c.overlaps || Overlaps(b, a, Options{}) != c.overlaps {
			t.Errorf("%s and %s: want overlap %v", a, b, c.overlaps)
		}
		if Covers(a, b, Options{}) != c.covers || Covers(b, a, Options{}) != c.other {
			t.Errorf("%s covers %s: want %v, and back %v", a, b, c.covers, c.other)
		}
	}
}
