package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// keeping makes a limit of an hour that keeps the states of another name.
func keeping(t testing.TB, name, states, text string) *weir.Limit {
	t.Helper()
	spec, err := weir.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := weir.NewLimitKeeping(name, states, spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// only makes limits all that the store expects.
func (b *bench) only(reserved map[string]int, limits ...*weir.Limit) {
	b.Helper()
	if err := b.ExpectOnly(reserved, limits...); err != nil {
		b.Fatal(err)
	}
}

// own counts how many of n new callers of a limit get an entry of their own. Of a
// share some of the last are not among them: when the first part of the store is
// full, cells come into use, and who meets a cell that is used up has no entry.
func (b *bench) own(n int, l *weir.Limit, prefix string) int {
	b.Helper()
	before := b.Stats().Keys
	b.flood(n, l, prefix)
	return b.Stats().Keys - before
}

// A renamed rule keeps what its callers have used, numbers that change with it
// included, and what they hold counts for it.
func TestRenamedRuleKeepsItsStates(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	old := weir.MustLimit("old", "10/h")
	b.only(nil, old)
	b.flood(500, old, "caller")
	victim := b.user(old, "victim")
	b.admitted(10, victim)
	for _, l := range []*weir.Limit{keeping(t, "new", "old", "10/h"), keeping(t, "newer", "old", "12/h")} {
		b.only(nil, l)
		if got, want := b.admitted(20, b.user(l, "victim")), int(l.Capacity()-10); got != want {
			t.Errorf("%s: %d passed after the reload, want %d", l.Name(), got, want)
		}
		st := b.Stats()
		if _, known := st.Rules["old"]; known || len(st.Rules) != 1 || st.Rules[l.Rule()].Keys != 501 {
			t.Errorf("%s: the store knows %+v", l.Name(), st.Rules)
		}
	}
	if got := b.admitted(5, victim) + b.admitted(1, b.user(old, "late")); got != 1 {
		t.Errorf("%d passed by the old limit, which requests on their way still hold", got)
	}
	if st := b.Stats(); len(st.Rules) != 1 || st.Rules["newer"].Keys != 502 {
		t.Errorf("an old version has brought its rule back: %+v", st.Rules)
	}
	b.only(nil, old)
	if st := b.Stats(); st.Rules["old"].Keys != 502 || len(st.Rules) != 1 {
		t.Errorf("renamed back, the store knows %+v", st.Rules)
	}
}

// What was left by versions that the store has forgotten moves as well, also from
// a rule that was gone in between.
func TestStatesOfForgottenVersionsMove(t *testing.T) {
	b := open(t, memstore.Config{})
	old, other := weir.MustLimit("old", "10/h"), weir.MustLimit("other", "1/s")
	b.only(nil, old)
	b.flood(100, old, "caller")
	b.only(nil, other)
	if st := b.Stats(); st.Rules["old"].Keys != 100 {
		t.Fatalf("the store knows %+v", st.Rules)
	}
	b.only(nil, other, keeping(t, "new", "old", "7/h"))
	if st := b.Stats(); st.Rules["new"].Keys != 100 || len(st.Rules) != 2 {
		t.Errorf("the store knows %+v", st.Rules)
	}
}

// One limit of a rule may move alone, and two rules may exchange what they keep.
func TestStatesMoveByLimits(t *testing.T) {
	b := open(t, memstore.Config{})
	second, day := weir.MustLimit("api/1s", "9/h"), weir.MustLimit("api/1d", "9/day")
	b.only(nil, second, day)
	b.flood(30, second, "a")
	b.flood(50, day, "b")
	b.only(nil, second, keeping(t, "daily", "api/1d", "9/day"))
	if st := b.Stats(); st.Rules["api"].Keys != 30 || st.Rules["daily"].Keys != 50 {
		t.Errorf("the store knows %+v", st.Rules)
	}
	b.only(nil, keeping(t, "daily", "api/1s", "9/h"), keeping(t, "api", "api/1d", "9/day"))
	if st := b.Stats(); st.Rules["api"].Keys != 50 || st.Rules["daily"].Keys != 30 {
		t.Errorf("after the exchange the store knows %+v", st.Rules)
	}
}

// A caller who shares a cell is not freed by a new name of the rule, and a key of
// it cannot be reset.
func TestOverflowCellsMoveAlong(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	old := weir.MustLimit("old", "10/h")
	b.only(nil, old)
	b.flood(1000, old, "stranger")
	caller := b.user(old, "caller")
	b.admitted(10, caller)
	renamed := keeping(t, "new", "old", "10/h")
	b.only(nil, renamed)
	caller.Limit = renamed
	if ok, d := b.take(caller); ok || d[0].Mode != weir.Overflow {
		t.Errorf("allowed %t in mode %s", ok, d[0].Mode)
	}
	if st := b.Stats(); st.Rules["new"].Overflow != 1 {
		t.Errorf("overflow is counted for %+v", st.Rules)
	}
	for _, l := range []*weir.Limit{renamed, old} {
		if err := b.Reset(context.Background(), l, caller.Key); !errors.Is(err, weir.ErrNotApplied) {
			t.Errorf("Reset of %s: %v", l.Name(), err)
		}
	}
}

// Rules of the last set share no room with those of this one.
func TestReloadGivesSharesBack(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000, Reserved: map[string]int{"gone": 2000}})
	gone, api, login := weir.MustLimit("gone", "1/h"), weir.MustLimit("api", "1/h"), weir.MustLimit("login", "1/h")
	if err := b.Expect(gone, api); err != nil {
		t.Fatal(err)
	}
	b.only(map[string]int{"login": 1500}, api, login)
	b.flood(20_000, gone, "request on its way")
	half := b.Stats().MaxKeys / 2
	if st := b.Stats(); st.Keys > half+100 {
		t.Errorf("a rule that is gone took %d of %d", st.Keys, st.MaxKeys)
	}
	if got := b.own(4500, login, "l"); got < 1200 {
		t.Errorf("login got %d of the 1500 that it was promised", got)
	}
	if got, want := b.own(3*half, api, "a"), half-1500; got < want*8/10 {
		t.Errorf("api got %d of its share of %d", got, want)
	}
}

// The share of a rule does not shrink by reloads, each of which brings the other
// rules under new names, be it with their states or without.
func TestThousandReloadsDiluteNoShare(t *testing.T) {
	for _, renamed := range []bool{true, false} {
		b := open(t, memstore.Config{MaxKeys: 10_000})
		api := weir.MustLimit("api", "1/h")
		was := "other"
		for i := range 1000 {
			name := fmt.Sprint("other-", i)
			if !renamed {
				was = name
			}
			other := keeping(t, name, was, "3/s")
			b.only(nil, api, other)
			b.flood(3, other, "caller")
			b.clock.now += 50_000
		}
		st := b.Stats()
		if len(st.Rules) > 100 {
			t.Errorf("renamed %t: %d rules are known", renamed, len(st.Rules))
		}
		filler := weir.MustLimit("filler", "1/h")
		b.flood(20_000, filler, "f")
		if got, want := b.own(st.MaxKeys, api, "a"), st.MaxKeys/4; got < want*8/10 {
			t.Errorf("renamed %t: api got %d of its share of %d", renamed, got, want)
		}
	}
}

// A rule that is expected after the set was told joins it.
func TestExpectAddsToTheSet(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	api, login, filler := weir.MustLimit("api", "1/h"), weir.MustLimit("login", "1/h"), weir.MustLimit("filler", "1/h")
	b.only(nil, api)
	if err := b.Expect(login); err != nil {
		t.Fatal(err)
	}
	b.flood(20_000, filler, "f")
	want := b.Stats().MaxKeys / 4
	if got := b.own(3*want, login, "l"); got < want*8/10 {
		t.Errorf("login got %d of its share of %d", got, want)
	}
}

// An error leaves everything as it was.
func TestExpectOnlyChangesNothingOnAnError(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	api, filler := weir.MustLimit("api", "1/h"), weir.MustLimit("filler", "1/h")
	b.only(map[string]int{"api": 400}, api)
	b.flood(10, api, "first")
	many := make([]*weir.Limit, 200)
	for i := range many {
		many[i] = weir.MustLimit(fmt.Sprint("many-", i), "1/h")
	}
	bad := func(sentinel error, want string, reserved map[string]int, limits ...*weir.Limit) {
		t.Helper()
		err := b.ExpectOnly(reserved, limits...)
		if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	bad(weir.ErrInvalid, "memstore Reserved api 0: out of range; use 1 or more", map[string]int{"api": 0, "b": 1}, filler)
	bad(weir.ErrInvalid, "more than half of the room is reserved", map[string]int{"a": 300, "b": 300}, filler)
	bad(weir.ErrInvalid, "the states of api are kept by rule other as well", nil, keeping(t, "other", "api", "1/h"), api)
	bad(weir.ErrNotApplied, "limit many-125: ", nil, many...)
	b.flood(2000, filler, "f")
	if got := b.own(1000, api, "a"); got < 390 {
		t.Errorf("api got %d of the 390 that are left of its promise", got)
	}
	if _, known := b.Stats().Rules["many-0"]; known {
		t.Error("limits of a set that was refused are known")
	}
	_ = b.Close()
	bad(weir.ErrClosed, "closed", nil, api)
}

// Limits without states, and none at all, are a set as well.
func TestExpectOnlyOfNothing(t *testing.T) {
	b := open(t, memstore.Config{Reserved: map[string]int{"api": 5}})
	b.only(nil, nil, weir.MustLimit("free", "unlimited"), weir.MustLimit("none", "deny"))
	if st := b.Stats(); len(st.Rules) != 0 {
		t.Errorf("the store knows %+v", st.Rules)
	}
	b.clock.now = -1
	b.only(nil, weir.MustLimit("api", "1/h"))
}

// Takes under the old set and the new, while one replaces the other over and over:
// no unit is lost, and none is handed out twice.
func TestReloadsAmongTakes(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	const callers, capacity, goroutines = 20, 300, 6
	names := []*weir.Limit{weir.MustLimit("a", "300/day"), keeping(t, "b", "a", "300/day"), keeping(t, "c/1d", "a", "300/day")}
	beside := weir.MustLimit("beside", "1000000/day")
	b.only(nil, names[0], beside)
	var workers, reloads sync.WaitGroup
	done := make(chan struct{})
	reloads.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if err := b.ExpectOnly(map[string]int{fmt.Sprint("r", i%7): 50}, beside, names[i%len(names)]); err != nil {
				t.Error(err)
				return
			}
			b.Stats()
		}
	})
	var passed [goroutines][callers]int
	for g := range goroutines {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			out := make([]weir.Decision, 2)
			for range 3 * callers * capacity / goroutines {
				caller := r.IntN(callers)
				mine := b.user(names[r.IntN(len(names))], fmt.Sprint(caller))
				takes := []weir.Take{mine, b.user(beside, fmt.Sprint(r.IntN(callers)))}
				ok, _, err := b.Take(context.Background(), takes, out)
				if err != nil {
					t.Error(err)
					return
				}
				if ok {
					passed[g][caller]++
				}
			}
		})
	}
	workers.Wait()
	close(done)
	reloads.Wait()
	for caller := range callers {
		sum := 0
		for g := range goroutines {
			sum += passed[g][caller]
		}
		if rest := b.admitted(capacity, b.user(names[0], fmt.Sprint(caller))); sum+rest != capacity {
			t.Errorf("caller %d: %d passed among the reloads and %d after them, want %d", caller, sum, rest, capacity)
		}
	}
}
