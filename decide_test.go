package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
)

// told is a store that answers as it is told, call by call; the last answer
// stays.
type told struct {
	weir.Store // for what a test does not expect to be asked
	answers    []answer
	asked      []weir.Take // of the last call
	takes      int
	returned   [][]weir.Return
	returnErrs []error
	resetErr   error
}

type answer struct {
	allowed   bool
	decisions []weir.Decision
	now       weir.Micros
	err       error
}

func (s *told) Keyer() weir.Keyer { return weir.Keyer{} }

func (s *told) Take(_ context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	a := s.answers[min(s.takes, len(s.answers)-1)]
	s.takes++
	s.asked = append(s.asked[:0], takes...)
	copy(out, a.decisions)
	return a.allowed, weir.Stamp{Now: a.now, Epoch: 7}, a.err
}

func (s *told) Return(_ context.Context, returns []weir.Return) (weir.Stamp, error) {
	s.returned = append(s.returned, append([]weir.Return(nil), returns...))
	if len(s.returned) > len(s.returnErrs) {
		return weir.Stamp{}, nil
	}
	return weir.Stamp{}, s.returnErrs[len(s.returned)-1]
}

func (s *told) Reset(context.Context, *weir.Limit, weir.Key) error { return s.resetErr }

// tell makes a limiter on a store that answers so.
func tell(t *testing.T, s *told, texts ...string) *weir.Limiter {
	t.Helper()
	l, err := weir.New(s, built(t, texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheLimitThatBinds(t *testing.T) {
	const never = -1
	// f gives each limit's capacity; what was left of it, or the wait of a
	// refusal; and the one that binds.
	f := func(binding int, retryAfter weir.Micros, decisions ...[2]int64) {
		t.Helper()
		s, a := &told{}, answer{allowed: true, now: noon}
		o := new(weir.Outcome)
		for i, d := range decisions {
			l, err := weir.NewLimit(fmt.Sprint("r", i), weir.Spec{Algorithm: weir.FixedWindow, Count: d[0], Period: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			o.Takes = append(o.Takes, weir.Take{Limit: l, Cost: 1})
			switch left := d[1]; {
			case left == never:
				a.allowed = false
				a.decisions = append(a.decisions, weir.Decision{Never: true})
			case left >= 1000:
				a.allowed = false
				a.decisions = append(a.decisions, weir.Decision{RetryAfter: weir.Micros(left)})
			default:
				a.decisions = append(a.decisions, weir.Decision{Allowed: true, Granted: 1, Remaining: left})
			}
		}
		s.answers = []answer{a}
		if err := weir.Decide(t.Context(), s, o); err != nil {
			t.Fatal(err)
		}
		if o.Allowed != a.allowed || o.Binding != binding || o.RetryAfter != retryAfter || o.Never != (decisions[binding][1] == never) {
			t.Errorf("%v: %d binds, wait %d, never %v; want %d, %d", decisions, o.Binding, o.RetryAfter, o.Never, binding, retryAfter)
		}
		if o.Limit() != o.Takes[binding].Limit || o.Decision() != a.decisions[binding] {
			t.Errorf("%v: %v, %+v", decisions, o.Limit(), o.Decision())
		}
	}
	f(0, 0, [2]int64{10, 9})
	f(1, 0, [2]int64{10, 5}, [2]int64{10, 4})                 // the least share left
	f(0, 0, [2]int64{1000, 400}, [2]int64{10, 5})             // a share, not a number
	f(0, 0, [2]int64{10, 5}, [2]int64{1000, 500})             // the first of two
	f(1, 0, [2]int64{10, 5}, [2]int64{1000, 499})             // by a thousandth
	f(2, 0, [2]int64{10, 1}, [2]int64{7, 1}, [2]int64{99, 0}) // nothing left
	f(1, 2000, [2]int64{10, 5}, [2]int64{10, 2000})           // only the refused count
	f(0, 2000, [2]int64{10, 2000}, [2]int64{10, 1999})        // the longest wait
	f(2, 2001, [2]int64{10, 2000}, [2]int64{10, 0}, [2]int64{10, 2001})
	f(0, 2000, [2]int64{10, 2000}, [2]int64{10, 2000}) // the first of two
	f(1, 0, [2]int64{10, 2000}, [2]int64{10, never})   // never before all
	f(1, 0, [2]int64{10, 2000}, [2]int64{10, never}, [2]int64{10, never})
	const large = 1<<52 - 1
	f(1, 0, [2]int64{large, 999}, [2]int64{large, 998}) // no product overflows
}

// Takes that advise or stand alone never decide a call.
func TestOnlyTakesOfAllBind(t *testing.T) {
	l := built(t, "10/h", "10/h", "10/h")
	s := &told{answers: []answer{{allowed: true, decisions: []weir.Decision{
		{RetryAfter: 9000}, {Allowed: true, Remaining: 5, Delay: 3}, {Never: true, Delay: 9},
	}}}}
	o := &weir.Outcome{Takes: []weir.Take{
		{Limit: l[0], Cost: 1, Join: weir.Advise}, {Limit: l[1], Cost: 1}, {Limit: l[2], Cost: 1, Join: weir.Alone},
	}}
	if err := weir.Decide(t.Context(), s, o); err != nil || !o.Allowed || o.Binding != 1 || o.Delay != 3 || o.RetryAfter != 0 || o.Never {
		t.Errorf("%+v, %v", o, err)
	}
	o.Takes[1].Join = weir.Alone
	if err := weir.Decide(t.Context(), s, o); err != nil || !o.Allowed || o.Binding != -1 || o.Delay != 0 || o.Limit() != nil {
		t.Errorf("none of all: %+v, %v", o, err)
	}
}

func TestErrorsOfTheStoreRefuse(t *testing.T) {
	state := &weir.StateError{Limit: "ra", Err: errors.New("words of family x")}
	for _, err := range []error{weir.ErrUnknown, weir.ErrNotApplied, weir.ErrClosed, weir.ErrUnsupported, state, context.DeadlineExceeded} {
		s := &told{answers: []answer{{
			allowed: true, now: noon, err: err, // a store that says too much
			decisions: []weir.Decision{{Allowed: true, Granted: 1, Receipt: weir.Receipt{At: noon, Cost: 1}}},
		}}}
		l, o := tell(t, s, "10/h"), new(weir.Outcome)
		if got := l.Take(t.Context(), o, 1, user()); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
		if o.Allowed || o.Cause != weir.ByFault || !errors.Is(o.Err, err) || o.Binding != -1 || o.Mode() != weir.Closed || o.Stamp.Now != noon {
			t.Errorf("%v: %+v", err, o)
		}
		if len(o.Takes) != 1 || o.Takes[0].Limit.Name() != "ra" || o.Decisions[0] != (weir.Decision{}) {
			t.Errorf("%v: takes %v, decisions %v", err, o.Takes, o.Decisions)
		}
		if err := l.Refund(t.Context(), o); err != nil || len(s.returned) != 0 {
			t.Errorf("what may not have been charged was refunded: %v, %v", s.returned, err)
		}
		if ok, got := l.Allow(t.Context(), user()); ok || !errors.Is(got, err) {
			t.Errorf("Allow: %v, %v", ok, got)
		}
		if s.takes != 2 {
			t.Errorf("%v: the store was asked %d times for two takes", err, s.takes)
		}
	}
	refusal := &weir.FieldError{Field: "slot", Problem: "it has none"}
	o := new(weir.Outcome)
	if err := tell(t, &told{answers: []answer{{err: refusal}}}, "10/h").Take(t.Context(), o, 1); !errors.Is(err, refusal) || o.Cause != weir.ByRequest {
		t.Errorf("an invalid take: %v, %+v", err, o)
	}
}

func TestErrorsCanBeTold(t *testing.T) {
	f := func(err error, is ...error) {
		t.Helper()
		for _, sentinel := range []error{weir.ErrInvalid, weir.ErrUnsupported, weir.ErrNotApplied, weir.ErrUnknown, weir.ErrStale, weir.ErrClosed} {
			if want := slices.Contains(is, sentinel); errors.Is(err, sentinel) != want {
				t.Errorf("%v is %v: %v", err, sentinel, !want)
			}
		}
	}
	cause := errors.New("malformed")
	state := &weir.StateError{Limit: "api/1m", Take: 2, Err: cause}
	f(weir.ErrStale, weir.ErrStale, weir.ErrNotApplied)
	f(weir.ErrClosed, weir.ErrClosed, weir.ErrNotApplied)
	f(weir.ErrUnknown, weir.ErrUnknown)
	f(state, weir.ErrNotApplied)
	f(fmt.Errorf("call: %w", &weir.FieldError{}), weir.ErrInvalid)
	if !errors.Is(state, cause) || state.Error() != "weir: state of limit api/1m: malformed; Reset heals it" {
		t.Error(state)
	}
}

func TestAnOutcomeRemembersNothing(t *testing.T) {
	allowed := answer{allowed: true, now: noon, decisions: []weir.Decision{{Allowed: true, Granted: 1, Remaining: 4, Receipt: weir.Receipt{At: noon, Cost: 1}}}}
	s := &told{answers: []answer{
		{now: noon, decisions: []weir.Decision{{Never: true, Delay: 5}}},
		allowed,
		{now: noon, decisions: []weir.Decision{{RetryAfter: 9}}},
		{err: weir.ErrUnknown},
		allowed,
		{allowed: true}, // and says nothing of the takes
	}}
	l, o := tell(t, s, "5/h"), new(weir.Outcome)
	want := []string{
		"false 0 0 0 true 0 <nil>",
		"true 0 0 0 false 0 <nil>",
		"false 0 0 9 false 0 <nil>",
		"false 2 -1 0 false 0 weir: outcome unknown",
		"true 0 0 0 false 0 <nil>",
		"true 0 -1 0 false 0 <nil>",
	}
	var got []string
	for range want {
		_ = l.Take(t.Context(), o, 1, user())
		got = append(got, fmt.Sprint(o.Allowed, int(o.Cause), o.Binding, o.RetryAfter, o.Never, o.Delay, o.Err))
		if len(o.Takes) != 1 || len(o.Decisions) != 1 {
			t.Errorf("%d takes, %d decisions", len(o.Takes), len(o.Decisions))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	if o.Decisions[0] != (weir.Decision{}) {
		t.Errorf("a decision of another call: %+v", o.Decisions)
	}
	// The same takes may be decided again, as they stand.
	s.takes = 0
	got = nil
	for range want {
		_ = weir.Decide(t.Context(), s, o)
		got = append(got, fmt.Sprint(o.Allowed, int(o.Cause), o.Binding, o.RetryAfter, o.Never, o.Delay, o.Err))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decided again (- want, + got):\n%s", diff)
	}
}

// An outcome that lies in a pool keeps no limit of an old policy alive.
func TestAnOutcomeThatIsResetLetsGo(t *testing.T) {
	b, o := limited(t, "5/h", "5/day calendar UTC"), new(weir.Outcome)
	if err := b.Take(t.Context(), o, 1, user()); err != nil {
		t.Fatal(err)
	}
	if err := b.Refund(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Reset()
	for _, take := range o.Takes[:2] {
		if take != (weir.Take{}) {
			t.Errorf("it keeps %+v", take)
		}
	}
}

func TestTheZeroOutcomeIsRefused(t *testing.T) {
	var o weir.Outcome
	if o.Allowed || o.Limit() != nil || o.Decision() != (weir.Decision{}) || o.Mode() != weir.Exact {
		t.Errorf("%+v", o)
	}
	if err := weir.GiveBack(t.Context(), &told{}, &o); err != nil {
		t.Error(err)
	}
}

func TestOutcomesThatNoLimitDecides(t *testing.T) {
	cause := errors.New("out of order")
	f := func(what string, change func(o *weir.Outcome), allowed bool, c weir.Cause, err error, m weir.Mode) {
		t.Helper()
		s := &told{answers: []answer{{allowed: true, decisions: []weir.Decision{{Allowed: true, Receipt: weir.Receipt{Cost: 1}, Mode: weir.Leased}}}}}
		o := new(weir.Outcome)
		if err := tell(t, s, "5/h").Take(t.Context(), o, 1); err != nil || o.Mode() != weir.Leased {
			t.Fatal(err)
		}
		change(o)
		if o.Allowed != allowed || o.Cause != c || !errors.Is(o.Err, err) || o.Mode() != m || o.Binding != -1 || len(o.Takes)+len(o.Decisions) != 0 {
			t.Errorf("%s: %+v, mode %s", what, o, o.Mode())
		}
	}
	f("Reset", func(o *weir.Outcome) { o.Reset() }, false, weir.ByLimits, nil, weir.Exact)
	f("Pass", func(o *weir.Outcome) { o.Pass() }, true, weir.ByNothing, nil, weir.Exact)
	f("Refuse", func(o *weir.Outcome) { o.Refuse(weir.ByMissing, cause) }, false, weir.ByMissing, cause, weir.Exact)
	f("Fail open", func(o *weir.Outcome) { o.Fail(weir.Open, cause) }, true, weir.ByFault, cause, weir.Open)
	f("Fail closed", func(o *weir.Outcome) { o.Fail(weir.Closed, cause) }, false, weir.ByFault, cause, weir.Closed)
	f("Fail local", func(o *weir.Outcome) { o.Fail(weir.Local, cause) }, false, weir.ByFault, cause, weir.Closed)
}

// A refund that was certainly not applied may be tried again; any other is
// never sent twice.
func TestRefundsThatFail(t *testing.T) {
	charged := weir.Receipt{At: noon, Cost: 2, Numbers: [2]int64{1, 5}}
	s := &told{
		answers:    []answer{{allowed: true, decisions: []weir.Decision{{Allowed: true, Receipt: charged}, {Allowed: true}}}},
		returnErrs: []error{weir.ErrNotApplied, weir.ErrClosed, weir.ErrUnknown},
	}
	l, o := tell(t, s, "5/h", "7/h"), new(weir.Outcome)
	if err := l.Take(t.Context(), o, 2, user()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{weir.ErrNotApplied, weir.ErrClosed, weir.ErrUnknown, nil, nil} {
		if err := l.Refund(t.Context(), o); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if len(s.returned) != 3 {
		t.Errorf("sent %d times, want 3", len(s.returned))
	}
	for _, got := range s.returned {
		want := []weir.Return{{Limit: o.Takes[0].Limit, Key: o.Takes[0].Key, Tag: o.Takes[0].Tag, Receipt: charged, Units: 2}}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y *weir.Limit) bool { return x == y })); diff != "" {
			t.Errorf("(- want, + got):\n%s", diff)
		}
	}
}

func TestResetTellsEveryError(t *testing.T) {
	cause := errors.New("out of order")
	err := tell(t, &told{resetErr: cause}, "5/h", "7/h").Reset(t.Context(), user())
	if !errors.Is(err, cause) || err.Error() != "out of order\nout of order" {
		t.Error(err)
	}
}

func TestACalendarAsksOnceMoreWhenItsEdgesAreStale(t *testing.T) {
	b := limited(t, "3/day calendar Europe/Berlin", "100/h", "50/week calendar UTC")
	f := func(what string, asked int, allowed bool, remaining int64) {
		t.Helper()
		before := b.store.takes
		o := b.take(1)
		if got := b.store.takes - before; got != asked || o.Allowed != allowed || o.Decisions[0].Remaining != remaining {
			t.Errorf("%s: asked %d times, allowed %v, %d remain", what, got, o.Allowed, o.Decisions[0].Remaining)
		}
	}
	f("the first take", 2, true, 2)
	f("the second knows the edges", 1, true, 1)
	b.clock.advance(11 * time.Hour) // 23:00 UTC is midnight in Berlin
	f("the next day is known, too", 1, true, 2)
	b.clock.advance(24 * time.Hour)
	f("the day after is not", 2, true, 2)
	f("then it is", 1, true, 1)
	b.clock.advance(100 * 24 * time.Hour)
	f("long after", 2, true, 2)
	f("then it is", 1, true, 1)
	f("the day is not used up", 1, true, 0)
	f("the day is used up", 1, false, 0)

	// A peek learns and teaches the edges like a take.
	other := limited(t, "3/day calendar Europe/Berlin")
	if got := other.left()[0]; got != 3 || other.store.takes != 2 {
		t.Errorf("%d left, asked %d times", got, other.store.takes)
	}
	if other.take(1); other.store.takes != 3 {
		t.Errorf("asked %d times", other.store.takes)
	}
}

func TestEdgesThatStayStaleAreAnError(t *testing.T) {
	s := &told{answers: []answer{{now: noon, err: weir.ErrStale}, {now: noon + 1, err: weir.ErrStale}}}
	l, o := tell(t, s, "3/day calendar UTC", "5/s"), new(weir.Outcome)
	err := l.Take(t.Context(), o, 1, user())
	if !errors.Is(err, weir.ErrStale) || !errors.Is(err, weir.ErrNotApplied) || s.takes != 2 {
		t.Errorf("asked %d times: %v", s.takes, err)
	}
	if o.Allowed || o.Cause != weir.ByFault || o.Stamp.Now != noon+1 {
		t.Errorf("%+v", o)
	}
	e := s.asked[0].Edges
	if e == nil || e[1] > noon || noon >= e[2] || s.asked[1].Edges != nil {
		t.Errorf("asked again with %v and %v", e, s.asked[1].Edges)
	}
	// A store that says so for no reason, or without a time.
	s = &told{answers: []answer{{err: weir.ErrStale}}}
	if err := tell(t, s, "5/s").Take(t.Context(), o, 1, user()); !errors.Is(err, weir.ErrStale) || s.takes != 2 {
		t.Errorf("asked %d times: %v", s.takes, err)
	}
	s = &told{answers: []answer{{err: weir.ErrStale}, {err: weir.ErrUnknown}}}
	if err := tell(t, s, "3/day calendar UTC").Take(t.Context(), o, 1, user()); !errors.Is(err, weir.ErrUnknown) || s.takes != 2 {
		t.Errorf("asked %d times: %v", s.takes, err)
	}
	s = &told{answers: []answer{{err: weir.ErrStale}}}
	nobody := &weir.Outcome{Takes: []weir.Take{{Cost: 1}}}
	if err := weir.Decide(t.Context(), s, nobody); !errors.Is(err, weir.ErrStale) {
		t.Errorf("a take without a limit: %v", err)
	}
}

// Who brings edges is believed, as long as the store is content with them.
func TestACallersOwnEdgesAreKept(t *testing.T) {
	l := built(t, "3/day calendar UTC")[0]
	s := &told{answers: []answer{{allowed: true, decisions: []weir.Decision{{Allowed: true}}}}}
	limiter, o := tell(t, s), new(weir.Outcome)
	own := &weir.Edges{noon - 2, noon - 1, noon + 1, noon + 2}
	if err := limiter.TakeAll(t.Context(), o, weir.Take{Limit: l, Cost: 1, Edges: own}); err != nil || s.asked[0].Edges != own {
		t.Errorf("%v, %v", s.asked[0].Edges, err)
	}
	if err := limiter.TakeAll(t.Context(), o, weir.Take{Limit: l, Cost: 1}); err != nil || s.asked[0].Edges != nil {
		t.Errorf("%v, %v", s.asked[0].Edges, err)
	}
}
