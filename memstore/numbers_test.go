package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
)

// takeOne takes one unit of a key.
func (s *Store) takeOne(l *weir.Limit, key byte) (allowed bool, err error) {
	allowed, _, err = s.Take(context.Background(), []weir.Take{{Limit: l, Key: weir.Key{key}, Cost: 1}}, make([]weir.Decision, 1))
	return allowed, err
}

// versions is how many versions have a number, and how many of them have cells.
func (s *Store) versions() (numbered, celled int) {
	for _, m := range *s.numbered.Load() {
		if m != nil {
			numbered++
		}
		if m != nil && len(m.cells) > 0 {
			celled++
		}
	}
	return numbered, celled
}

// A reload takes back the numbers of the last set, all but those that entries name;
// and of these it lets the cells go.
func TestReloadsTakeNumbersBack(t *testing.T) {
	s := fixed(t, Config{})
	const rules = 50
	for i := range 20 {
		var limits []*weir.Limit
		for rule := range rules {
			limits = append(limits, weir.MustLimit(fmt.Sprint("rule", rule), fmt.Sprint(10+i%7, "/s")))
		}
		if err := s.ExpectOnly(nil, limits...); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := s.takeOne(limits[0], 1); err != nil {
				t.Fatal(err)
			}
		}
		numbered, celled := s.versions()
		if most := len(*s.numbered.Load()); numbered > rules+1 || celled != rules || most > rules+1 {
			t.Fatalf("reload %d: %d versions of %d limits are numbered up to %d, %d have cells", i, numbered, rules, most, celled)
		}
		if err := (&crowd{Store: s}).sound(); err != nil {
			t.Fatal(err)
		}
	}
}

// So does Expect, where it finds room by forgetting others.
func TestExpectTakesNumbersBack(t *testing.T) {
	s := fixed(t, Config{MaxKeys: 64})
	for i := range 1000 {
		if err := s.Expect(weir.MustLimit("api", fmt.Sprint(1+i, "/s"))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(*s.numbered.Load()); n > 2*s.sizes.limits {
		t.Errorf("%d numbers of which %d can be known at a time", n, s.sizes.limits)
	}
}

// Where entries name as many versions as they can, one more is an error that changes
// nothing. The last number is as good as any other, once it comes back.
func TestLackOfNumbersIsAnError(t *testing.T) {
	s := fixed(t, Config{})
	known, fresh := weir.MustLimit("known", "5/h"), weir.MustLimit("fresh", "5/h")
	if err := s.Expect(known); err != nil {
		t.Fatal(err)
	}
	list := *s.numbered.Load()
	for len(list) < mostVersions {
		list = append(list, list[0])
	}
	s.numbered.Store(&list)
	_, taken := s.takeOne(fresh, 1)
	for name, err := range map[string]error{"Take": taken, "Expect": s.Expect(fresh), "ExpectOnly": s.ExpectOnly(nil, known, fresh)} {
		if !errors.Is(err, errNoNumbers) || !errors.Is(err, weir.ErrNotApplied) || s.find(fresh.Version()) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if allowed, err := s.takeOne(known, 1); !allowed || err != nil {
		t.Errorf("a limit that is known: %t, %v", allowed, err)
	}

	for i, meet := range []func(*weir.Limit) error{
		func(l *weir.Limit) error { return s.ExpectOnly(nil, known, l) },
		func(l *weir.Limit) error { return s.Expect(l) },
		func(l *weir.Limit) error {
			s.pruned.Store(0) // so that it may be looked again for what can be forgotten
			_, err := s.takeOne(l, 2)
			return err
		},
	} {
		last := mostVersions - 1 - i
		list[last] = &member{number: last} // of a version that is neither known nor named
		l := weir.MustLimit(fmt.Sprint("late", i), "5/h")
		if err := meet(l); err != nil || s.find(l.Version()).number != last {
			t.Fatalf("%d: %v", last, err)
		}
		passed := 0
		for range 10 {
			if allowed, err := s.takeOne(l, 1); err != nil {
				t.Fatal(err)
			} else if allowed {
				passed++
			}
		}
		if passed != 5 {
			t.Errorf("number %d: %d of 5 passed", last, passed)
		}
	}
}

// A version that is forgotten and comes back while an entry names it has two numbers,
// and one when that entry is gone.
func TestVersionThatComesBackHasOneNumber(t *testing.T) {
	s := fixed(t, Config{})
	l := weir.MustLimit("api", "7/s")
	f := func(what string, want int, err error) {
		t.Helper()
		if n, _ := s.versions(); n != want || err != nil {
			t.Errorf("%s: %d numbers, want %d, error %v", what, n, want, err)
		}
	}
	_, err := s.takeOne(l, 1)
	s.prune()
	f("a version that an entry names", 1, err)
	f("known again", 2, s.Expect(l))
	err = s.Reset(context.Background(), l, weir.Key{1})
	s.prune()
	f("without the entry", 1, err)
}
