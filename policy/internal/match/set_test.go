package match

import (
	"fmt"
	"slices"
	"testing"
)

func TestRulesAreAlternatives(t *testing.T) {
	p := func(text string) *Pattern { return parse(t, text) }
	s := NewSet([][]*Pattern{
		{p("POST /login"), p("/login"), p("/{any}"), p("/")},
		nil,
		{p("POST /login"), p("GET /jobs")},
		{p("/jobs/{id}"), p("/{kind}/{id}")},
	}, Options{})
	matches(t, s, "POST", "", read(t, "/login", Options{}), 0, 1, 2)
	matches(t, s, "GET", "", read(t, "/jobs", Options{}), 0, 1, 2)
	matches(t, s, "PUT", "", read(t, "/jobs/7", Options{}), 0, 1, 3)
	matches(t, s, "OPTIONS", "", read(t, "*", Options{}), 0, 1)
}

// The whole server is fitted by patterns over everything, and by no other.
func TestStarFitsOnlyEverything(t *testing.T) {
	s := set(t, Options{}, "/", "OPTIONS /{rest...}", "GET /", "/{$}", "/{x}", "/%2A", "a.example/", "")
	matches(t, s, "OPTIONS", "b.example", read(t, "*", Options{}), 0, 1, 7)
	matches(t, s, "OPTIONS", "b.example", read(t, "/*", Options{}), 0, 1, 4, 5, 7)
}

func TestZeroSetHasNoRules(t *testing.T) {
	matches(t, new(Set), "GET", "", read(t, "/", Options{}))
	matches(t, new(Set), "GET", "", read(t, "/a", Options{}))
}

func TestMatchAppends(t *testing.T) {
	s := set(t, Options{}, "/a", "/")
	if got := s.Match("GET", "", read(t, "/a", Options{}), []int{7}); !slices.Equal(got, []int{7, 0, 1}) {
		t.Errorf("got %v", got)
	}
}

// manyRules are n rules, of which 3 match POST /api/v1/jobs.
func manyRules(tb testing.TB, n int) *Set {
	patterns := make([]string, n)
	for i := range patterns {
		patterns[i] = fmt.Sprintf("GET /service%d/v1/{id}", i)
	}
	patterns[0], patterns[n/2], patterns[n-1] = "POST /api/v1/jobs", "/api/", "api.example/"
	return set(tb, Options{}, patterns...)
}

func TestAllocationsOfMatch(t *testing.T) {
	for _, n := range []int{10, 1000} {
		s := manyRules(t, n)
		var p Path
		dst := make([]int, 0, 8)
		allocs := testing.AllocsPerRun(100, func() {
			p.Parse("/api/v1/jobs", Options{})
			dst = s.Match("POST", "api.example:443", &p, dst[:0])
		})
		if allocs != 0 || !slices.Equal(dst, []int{0, n / 2, n - 1}) {
			t.Errorf("%d rules: %v, %v allocations", n, dst, allocs)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%d rules", n), func(b *testing.B) {
			s := manyRules(b, n)
			var p Path
			dst := make([]int, 0, 8)
			b.ReportAllocs()
			for b.Loop() {
				p.Parse("/api/v1/jobs", Options{})
				dst = s.Match("POST", "api.example", &p, dst[:0])
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"/", "/api/v1/jobs", "/a/../api//v1/%6aobs;x=1", "/users/0f8fad5b-d9cb-469f-a165-70867728950e/files/report.pdf"} {
		b.Run(text, func(b *testing.B) {
			var p Path
			b.ReportAllocs()
			for b.Loop() {
				p.Parse(text, Options{})
			}
		})
	}
}
