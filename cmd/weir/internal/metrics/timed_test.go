package metrics

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/expect"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// failing is a store that fails.
type failing struct{ err error }

func (s failing) Take(context.Context, []weir.Take, []weir.Decision) (bool, weir.Stamp, error) {
	return false, weir.Stamp{}, s.err
}

func (s failing) Return(context.Context, []weir.Return) (weir.Stamp, error) {
	return weir.Stamp{}, s.err
}
func (s failing) Reset(context.Context, *weir.Limit, weir.Key) error { return s.err }
func (s failing) Keyer() weir.Keyer                                  { return weir.Keyer{} }
func (s failing) Close() error                                       { return nil }

// instant is a Decider without rules.
type instant struct{}

func (instant) Decide(_ context.Context, _ *weir.Request, o *weir.Outcome) { o.Pass() }
func (instant) Keep(*weir.Outcome) *weir.Slots                             { return nil }
func (instant) GiveBack(context.Context, *weir.Outcome) error              { return weir.ErrUnsupported }

func TestTimed(t *testing.T) {
	c := newClock()
	c.step = 3 * time.Microsecond
	m := made(t, Config{Now: c.now})
	d, o := m.Timed(instant{}), new(weir.Outcome)
	d.Decide(t.Context(), &weir.Request{}, o)
	c.step = -time.Hour // a clock that is set back meanwhile
	d.Decide(t.Context(), &weir.Request{}, o)
	if !o.Allowed || !errors.Is(d.GiveBack(t.Context(), o), weir.ErrUnsupported) {
		t.Error("what the Decider says does not come through")
	}
	has(t, m, `weir_decision_seconds_bucket{le="1e-06"} 1`)
	has(t, m, `weir_decision_seconds_bucket{le="2.5e-06"} 1`)
	has(t, m, `weir_decision_seconds_bucket{le="5e-06"} 2`)
	has(t, m, `weir_decision_seconds_count 2`)
}

func TestStoreErrors(t *testing.T) {
	m := made(t, Config{})
	for _, err := range []error{weir.ErrNotApplied, weir.ErrUnknown, weir.ErrStale, weir.ErrClosed, errors.New("boom"), weir.ErrLost, nil} {
		s := m.Store(failing{err})
		_, _, took := s.Take(t.Context(), nil, nil)
		_, returned := s.Return(t.Context(), nil)
		if reset := s.Reset(t.Context(), nil, weir.Key{}); !errors.Is(took, err) || !errors.Is(returned, err) || !errors.Is(reset, err) {
			t.Errorf("%v became %v, %v, %v", err, took, returned, reset)
		}
	}
	for _, kind := range []string{"not_applied", "unknown", "closed", "other"} {
		has(t, m, `weir_store_errors_total{kind="`+kind+`"} 3`)
	}
	has(t, m, `weir_store_errors_total{kind="state"} 0`)
	for _, kind := range []string{"stale", "lost"} {
		if found := lines(scrape(t, m), `weir_store_errors_total{kind="`+kind+`"`); len(found) > 0 {
			t.Errorf("to be told so is no failure: %s", found)
		}
	}
}

func TestStoreTimesAreASample(t *testing.T) {
	m := made(t, Config{})
	s, n := m.Store(failing{}), 0
	m.sampled = func() bool { n++; return n%16 == 0 }
	for range 160 {
		s.Take(t.Context(), nil, nil)
	}
	has(t, m, `weir_store_seconds_count 10`)
	for n = 0; n < 100_000 && !oneInSixteen(); n++ {
	}
	if n == 100_000 {
		t.Error("oneInSixteen never is")
	}
}

// expecting remembers what it was told.
type expecting struct {
	failing
	expected, only []*weir.Limit
	reserved       map[string]int
}

func (e *expecting) Expect(limits ...*weir.Limit) error { e.expected = limits; return nil }
func (e *expecting) ExpectOnly(reserved map[string]int, limits ...*weir.Limit) error {
	e.reserved, e.only = reserved, limits
	return nil
}

func TestExpectationsArePassedOn(t *testing.T) {
	m, inner, l := made(t, Config{}), &expecting{}, weir.MustLimit("api", "5/s")
	s := m.Store(inner)
	if err := errors.Join(expect.Limits(s, l), expect.Only(s, map[string]int{"api": 5}, l)); err != nil {
		t.Fatal(err)
	}
	if len(inner.expected) != 1 || len(inner.only) != 1 || inner.reserved["api"] != 5 {
		t.Errorf("the store was told %v, %v, %v", inner.expected, inner.only, inner.reserved)
	}
}

func TestAllocationsOfTimed(t *testing.T) {
	m := made(t, clocks())
	api := info(0, "api", false, "api/1s 5/s", "api/1d 100/day")
	m.loaded([]*policy.RuleInfo{api}, "")
	f, d, o, r := judged("api", api), m.Timed(instant{}), new(weir.Outcome), new(weir.Request)
	s := m.Store(failing{})
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		m.Observe(ctx, f)
		d.Decide(ctx, r, o)
		s.Take(ctx, nil, nil)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// clocks are the machine's clocks.
func clocks() Config {
	start := time.Now()
	return Config{Now: time.Now, Elapsed: func() time.Duration { return time.Since(start) }}
}

func BenchmarkObserve(b *testing.B) {
	m := made(b, clocks())
	api := info(0, "api", false, "api 5/s")
	login := info(1, "login", false, "login/1m 20/min", "login/1d 200/day")
	m.loaded([]*policy.RuleInfo{api, login}, "")
	run := func(name string, f *policy.Finding) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Observe(b.Context(), f)
			}
		})
	}
	run("one-take", judged("", api))
	run("three-takes", judged("", api, login))
	run("unmatched", without(policy.ReasonUnmatched, weir.ByNothing, nil))
}

func BenchmarkTimed(b *testing.B) {
	m := made(b, clocks())
	bare := func(name string, d weir.Decider) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			o, r := new(weir.Outcome), new(weir.Request)
			for b.Loop() {
				d.Decide(b.Context(), r, o)
			}
		})
	}
	bare("bare", instant{})
	bare("timed", m.Timed(instant{}))
}

func BenchmarkStore(b *testing.B) {
	m := made(b, clocks())
	s, err := memstore.New(memstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, s weir.Store) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			key, tag := s.Keyer().Key()
			takes := []weir.Take{{Limit: weir.MustLimit("api", "1000000/s"), Key: key, Tag: tag, Cost: 1}}
			out := make([]weir.Decision, 1)
			for b.Loop() {
				s.Take(b.Context(), takes, out)
			}
		})
	}
	run("bare", s)
	run("sampled", m.Store(s))
	always := made(b, clocks())
	always.sampled = func() bool { return true }
	run("always", always.Store(s))
}
