package keyset_test

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/bench/internal/keyset"
)

func counts(s *keyset.Set) map[string]int {
	seen := map[string]int{}
	for i := range s.Len() {
		seen[s.At(i)]++
	}
	return seen
}

func TestUniformAsksForAllEquallyOften(t *testing.T) {
	s, err := keyset.Uniform("u", 1000, 2500)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 3000 {
		t.Errorf("%d asks, want 3000: whole rounds", s.Len())
	}
	seen := counts(s)
	for key := range s.Each() {
		if len(key) != keyset.Size || seen[key] != 3 {
			t.Errorf("%q is asked for %d times, want 3", key, seen[key])
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d keys, want 1000", len(seen))
	}
}

func TestRangesMeetNowhere(t *testing.T) {
	s, err := keyset.Uniform("u", 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for key := range s.Each() {
		seen[key] = true
	}
	for key := range keyset.Range(990, 20) {
		seen[key] = true
	}
	if len(seen) != 1010 {
		t.Errorf("%d keys, want 1010: the numbers 0 to 1009", len(seen))
	}
}

func TestZipfHasItsFavourites(t *testing.T) {
	s, err := keyset.Zipf("z", 1_000_000, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	var most int
	for _, n := range counts(s) {
		most = max(most, n)
	}
	if most < 11_000 || most > 14_000 {
		t.Errorf("the first key has %d of 100,000 asks, want an eighth", most)
	}
}

func TestSetsAreTheSameInEveryProcess(t *testing.T) {
	for _, name := range []string{"hot", "1e5"} {
		a, err := keyset.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := keyset.Parse(name)
		if a.Len() != b.Len() || a.At(a.Len()-1) != b.At(b.Len()-1) {
			t.Errorf("%s: two sets of one name differ", name)
		}
	}
	if _, err := keyset.Parse("1e4"); err == nil {
		t.Error("a name that there is not makes a set")
	}
	if _, err := keyset.Uniform("none", 0, 1); err == nil {
		t.Error("a set without keys is made")
	}
	if !slices.Contains(keyset.Names(), "zipf") || keyset.Title("hot") != "one key" {
		t.Error("the names do not hold what Parse knows")
	}
}
