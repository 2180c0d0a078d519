package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
)

func TestAllow(t *testing.T) {
	b := limited(t, "5/s burst 3")
	allow := func(want bool, parts ...weir.Part) {
		t.Helper()
		if got, err := b.Allow(t.Context(), parts...); got != want || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	for range 3 {
		allow(true, user())
	}
	allow(false, user())
	allow(true, weir.Text("user", "43"))
	allow(true, user(), weir.Text("path", "/"))
	allow(true)
	b.clock.wait(199_999)
	allow(false, user())
	b.clock.wait(1)
	allow(true, user())
	allow(false, user())
}

func TestTakeTellsWhatItFound(t *testing.T) {
	b := limited(t, "5/s burst 10", "3/min fixed-window")
	o := b.take(2)
	want := weir.Outcome{
		Allowed: true, Cause: weir.ByLimits, Binding: 1,
		Stamp: weir.Stamp{Now: noon, Epoch: o.Stamp.Epoch},
		Decisions: []weir.Decision{
			{Allowed: true, Granted: 2, Remaining: 8, ResetAfter: 400_000, Receipt: o.Decisions[0].Receipt},
			{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 59_876_544, Receipt: o.Decisions[1].Receipt},
		},
	}
	compare := func() {
		t.Helper()
		want.Takes = o.Takes
		if diff := cmp.Diff(want, *o, cmp.Comparer(func(x, y *weir.Limit) bool { return x == y }), cmp.FilterPath(func(p cmp.Path) bool {
			return slices.Contains([]string{".spent", ".released", ".slots", ".returns"}, p.Last().String())
		}, cmp.Ignore())); diff != "" {
			t.Errorf("(- want, + got):\n%s", diff)
		}
	}
	compare()
	if o.Limit().Name() != "rb" || o.Decision() != o.Decisions[1] || o.Mode() != weir.Exact || o.Stamp.Epoch == 0 {
		t.Errorf("%s, %+v, %s, %+v", o.Limit().Name(), o.Decision(), o.Mode(), o.Stamp)
	}
	if len(o.Takes) != 2 || o.Takes[0].Cost != 2 || o.Takes[0].Key != o.Takes[1].Key || o.Takes[0].Limit.Name() != "ra" {
		t.Errorf("%+v", o.Takes)
	}

	b.clock.advance(time.Second)
	o = b.take(2)
	want = weir.Outcome{
		Cause: weir.ByLimits, Binding: 1, RetryAfter: 58_876_544,
		Stamp: weir.Stamp{Now: noon + 1_000_000, Epoch: o.Stamp.Epoch},
		Decisions: []weir.Decision{
			{Allowed: true, Remaining: 10},
			{Remaining: 1, RetryAfter: 58_876_544, ResetAfter: 58_876_544},
		},
	}
	compare()
}

// The wait that a refusal names is exact.
func TestRetryAfterIsExact(t *testing.T) {
	f := func(text string) {
		t.Helper()
		b := limited(t, text)
		for b.take(1).Allowed {
			b.clock.wait(7)
		}
		o := b.take(1)
		b.clock.wait(o.RetryAfter - 1)
		if o := b.take(1); o.Allowed || o.RetryAfter != 1 {
			t.Errorf("%s: a microsecond early: %v, then %d", text, o.Allowed, o.RetryAfter)
		}
		b.clock.wait(1)
		if !b.take(1).Allowed {
			t.Errorf("%s: refused after %d µs", text, o.RetryAfter)
		}
	}
	f("5/s burst 3")
	f("7/min")
	f("999983 per 30d burst 10")
	f("3/min fixed-window")
	f("3/day fixed-window spread")
	f("3/day calendar Pacific/Apia")
	f("3/month calendar UTC")
}

func TestARefusalChargesNothing(t *testing.T) {
	b := limited(t, "10/h", "2/h", "100/h fixed-window")
	b.take(2)
	for range 5 {
		if o := b.take(1); o.Allowed || o.Binding != 1 {
			t.Errorf("allowed %v, by %d", o.Allowed, o.Binding)
		}
	}
	if diff := cmp.Diff([]int64{8, 0, 98}, b.left()); diff != "" {
		t.Errorf("left (- want, + got):\n%s", diff)
	}
}

func TestACostAboveTheCapacityIsNever(t *testing.T) {
	b := limited(t, "10/h", "2/h")
	o := b.take(3)
	if o.Allowed || !o.Never || o.RetryAfter != 0 || o.Binding != 1 {
		t.Errorf("%+v", o)
	}
	o = b.take(11)
	if !o.Never || o.Binding != 0 {
		t.Errorf("bound by %d, the first of two nevers is 0", o.Binding)
	}
	if diff := cmp.Diff([]int64{10, 2}, b.left()); diff != "" {
		t.Errorf("left (- want, + got):\n%s", diff)
	}
}

func TestPeekChargesNothing(t *testing.T) {
	b := limited(t, "5/h")
	o := new(weir.Outcome)
	f := func(cost int64, allowed, never bool, granted int64) {
		t.Helper()
		if err := b.Peek(t.Context(), o, cost, user()); err != nil {
			t.Fatal(err)
		}
		if o.Allowed != allowed || o.Never != never || o.Decision().Granted != granted || o.Decision().Receipt.Cost != 0 {
			t.Errorf("cost %d: %+v", cost, o)
		}
		if err := b.Refund(t.Context(), o); err != nil || b.store.returns != 0 {
			t.Errorf("a peek was refunded: %v", err)
		}
	}
	f(0, true, false, 0)
	f(5, true, false, 5)
	f(6, false, true, 0)
	b.take(4)
	f(1, true, false, 1)
	f(2, false, false, 0)
	f(math.MaxInt64, false, true, 0)
	if got := b.left()[0]; got != 1 {
		t.Errorf("%d left", got)
	}
}

func TestTakeAllTakesUnderDifferentKeys(t *testing.T) {
	limits := built(t, "2/h", "10/h", "unlimited")
	b := under(t)
	perUser, perTenant, free := limits[0], limits[1], limits[2]
	o := new(weir.Outcome)
	take := func(tenant, name string) bool {
		t.Helper()
		tenantKey, tag := b.Key(weir.Text("tenant", tenant))
		userKey, _ := b.Key(weir.Text("tenant", tenant), weir.Text("user", name))
		err := b.TakeAll(t.Context(), o,
			weir.Take{Limit: free, Key: userKey, Tag: tag, Cost: 1},
			weir.Take{Limit: perUser, Key: userKey, Tag: tag, Cost: 1},
			weir.Take{Limit: perTenant, Key: tenantKey, Tag: tag, Cost: 4},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Takes) != 2 || len(o.Decisions) != 2 {
			t.Errorf("the unlimited one is there: %+v", o.Takes)
		}
		return o.Allowed
	}
	if !take("acme", "ann") || !take("acme", "bob") {
		t.Error("two fit")
	}
	if take("acme", "ann") || o.Limit() != perTenant {
		t.Errorf("the third does not fit the tenant: %+v", o)
	}
	if !take("else", "ann") {
		t.Error("another tenant has its own units")
	}
	b.clock.advance(30 * time.Minute)
	if !take("acme", "ann") {
		t.Error("five units have come back to the tenant, one to the user")
	}
}

func TestTakeAllKnowsEveryWayToTake(t *testing.T) {
	l := built(t, "10/h overdraft 15")[0]
	b := under(t)
	key, tag := b.Key(user())
	o := new(weir.Outcome)
	f := func(cost int64, how weir.How, allowed bool, granted, charged, remaining int64) {
		t.Helper()
		if err := b.TakeAll(t.Context(), o, weir.Take{Limit: l, Key: key, Tag: tag, Cost: cost, How: how}); err != nil {
			t.Fatal(err)
		}
		if d := o.Decisions[0]; o.Allowed != allowed || d.Granted != granted || d.Receipt.Cost != charged || d.Remaining != remaining {
			t.Errorf("%d units, %b: allowed %v, %+v", cost, how, o.Allowed, d)
		}
	}
	f(3, 0, true, 3, 3, 7)
	f(9, weir.Peek|weir.Partial, true, 7, 0, 7)
	f(9, weir.Partial, true, 7, 7, 0)
	f(1, weir.Partial, false, 0, 0, 0)
	f(2, weir.Always, false, 0, 2, 0)
	f(9, weir.Force, true, 3, 3, 0) // the rest is forgiven
	f(1, weir.Force, true, 0, 0, 0)
}

func TestDeny(t *testing.T) {
	b := limited(t, "5/h", "deny")
	o := b.take(1)
	if o.Allowed || o.Cause != weir.ByDeny || o.Binding != -1 || o.Limit() != nil || len(o.Takes) != 0 || o.Mode() != weir.Exact {
		t.Errorf("%+v", o)
	}
	if ok, err := b.Allow(t.Context(), user()); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	l := built(t, "5/h", "deny")
	key, tag := b.Key(user())
	err := b.TakeAll(t.Context(), o, weir.Take{Limit: l[0], Key: key, Tag: tag, Cost: 1}, weir.Take{Limit: l[1], Key: key, Tag: tag, Cost: 1})
	if o.Allowed || o.Cause != weir.ByDeny || len(o.Takes) != 0 || err != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if b.store.takes != 0 {
		t.Errorf("the store was asked %d times", b.store.takes)
	}
}

func TestWithoutLimitsEverythingPasses(t *testing.T) {
	for _, b := range []*bench{limited(t), limited(t, "unlimited"), limited(t, "unlimited", "unlimited")} {
		o := b.take(math.MaxInt64)
		if !o.Allowed || o.Cause != weir.ByNothing || o.Binding != -1 || o.Limit() != nil || o.Decision() != (weir.Decision{}) {
			t.Errorf("%+v", o)
		}
		if err := b.Refund(t.Context(), o); err != nil {
			t.Error(err)
		}
		if err := b.TakeAll(t.Context(), o); !o.Allowed || o.Cause != weir.ByNothing || err != nil {
			t.Errorf("%+v, %v", o, err)
		}
		if b.store.takes+b.store.returns != 0 {
			t.Error("the store was asked")
		}
	}
}

func TestRefundsHappenOnce(t *testing.T) {
	b := limited(t, "5/h", "7/h fixed-window")
	o := b.take(3)
	for range 3 {
		if err := b.Refund(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int64{5, 7}, b.left()); diff != "" {
		t.Errorf("left (- want, + got):\n%s", diff)
	}
	b.take(5)
	if err := b.Refund(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{0, 2}, b.left()); diff != "" {
		t.Errorf("after others took, left (- want, + got):\n%s", diff)
	}
	if b.store.returns != 1 {
		t.Errorf("the store was asked %d times", b.store.returns)
	}
}

func TestAnOutcomeThatIsUsedAgainCanBeRefundedAgain(t *testing.T) {
	b := limited(t, "5/h")
	o := new(weir.Outcome)
	for range 3 {
		if err := b.Take(t.Context(), o, 2, user()); err != nil || !o.Allowed {
			t.Fatal(err)
		}
		if err := b.Refund(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.left()[0]; got != 5 || b.store.returns != 3 {
		t.Errorf("%d left after %d refunds", got, b.store.returns)
	}
	o.Reset()
	if err := b.Refund(t.Context(), o); err != nil || b.store.returns != 3 {
		t.Errorf("an empty outcome was refunded: %v", err)
	}
}

func TestALateRefundGivesWhatHasNotFlowedBack(t *testing.T) {
	b := limited(t, "6/h burst 6")
	o := b.take(6)
	b.clock.advance(30 * time.Minute) // three have flowed back
	b.take(3)
	if err := b.Refund(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := b.left()[0]; got != 3 {
		t.Errorf("%d left", got)
	}
	o = b.take(1)
	b.clock.advance(10 * time.Minute)
	b.take(3)
	if err := b.Refund(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := b.left()[0]; got != 0 {
		t.Errorf("%d left: what had flowed back was given twice", got)
	}
}

func TestResetForgetsOneKey(t *testing.T) {
	b := limited(t, "5/h", "5/h fixed-window", "unlimited")
	b.take(5)
	if ok, err := b.Allow(t.Context(), weir.Text("user", "43")); !ok || err != nil {
		t.Fatal(err)
	}
	if err := b.Reset(t.Context(), user()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{5, 5}, b.left()); diff != "" {
		t.Errorf("left (- want, + got):\n%s", diff)
	}
	o := new(weir.Outcome)
	if err := b.Peek(t.Context(), o, 0, weir.Text("user", "43")); err != nil || o.Decisions[0].Remaining != 4 || o.Decisions[1].Remaining != 4 {
		t.Errorf("another key: %+v, %v", o.Decisions, err)
	}
	if b.store.resets != 2 {
		t.Errorf("the store was asked %d times", b.store.resets)
	}
}

func TestLimitersThatAreRefused(t *testing.T) {
	store := limited(t).store
	var many []*weir.Limit
	for i := range 17 {
		many = append(many, weir.MustLimit(fmt.Sprint("r", i), "5/s"))
	}
	f := func(want string, store weir.Store, limits ...*weir.Limit) {
		t.Helper()
		l, err := weir.New(store, limits...)
		if l != nil || !errors.Is(err, weir.ErrInvalid) || err.Error() != "weir: "+want {
			t.Errorf("%v, %v; want %s", l, err, want)
		}
	}
	f("store nil: a limiter needs a store; make one with memstore.New, and the limiter with weir.New", nil)
	f("limit nil: it was not built; check the error of ParseLimit", store, nil)
	f("limit nil: it was not built; check the error of ParseLimit", store, many[0], new(weir.Limit))
	f("limit r0: two limits have this name and would share their states; name them <rule>/<slot>", store, many[0], many[1], weir.MustLimit("r0", "7/h"))
	f("limit r0: two limits have this name and would share their states; name them <rule>/<slot>", store, many[0], weir.MustLimit("r0", "unlimited"))
	f("limits 17: too many for one call; at most 16", store, many...)
	if _, err := weir.New(store, append(many[:16:16], weir.MustLimit("free", "unlimited"), weir.MustLimit("none", "deny"))...); err != nil {
		t.Errorf("sixteen limits with states: %v", err)
	}
}

// Whatever a caller hands in is answered, not paid with a crash.
func TestArgumentsThatAreRefused(t *testing.T) {
	b := limited(t, "5/s")
	l := built(t, "5/s")[0]
	ctx, zero := t.Context(), new(weir.Limiter)
	f := func(want string, call func(o *weir.Outcome) error) {
		t.Helper()
		o := &weir.Outcome{Allowed: true, RetryAfter: 5, Delay: 7}
		err := call(o)
		if !errors.Is(err, weir.ErrInvalid) || err.Error() != "weir: "+want {
			t.Errorf("%v; want %s", err, want)
		}
		if o.Allowed || o.Cause != weir.ByRequest || !errors.Is(o.Err, err) || o.Binding != -1 || o.RetryAfter+o.Delay != 0 || o.Limit() != nil {
			t.Errorf("%s: the outcome says %+v", want, o)
		}
	}
	const (
		noContext = "context nil: a call needs one; use context.Background() where there is none"
		noStore   = "store nil: a limiter needs a store; make one with memstore.New, and the limiter with weir.New"
		noLimit   = "limit nil: it was not built; check the error of ParseLimit"
	)
	var nothing context.Context
	f(noContext, func(o *weir.Outcome) error { return b.Take(nothing, o, 1) })
	f(noContext, func(o *weir.Outcome) error { return b.Peek(nothing, o, 1) })
	f(noContext, func(o *weir.Outcome) error { return b.TakeAll(nothing, o) })
	f(noStore, func(o *weir.Outcome) error { return zero.Take(ctx, o, 1) })
	f(noStore, func(o *weir.Outcome) error { return zero.TakeAll(ctx, o) })
	f(noStore, func(o *weir.Outcome) error { return weir.Decide(ctx, nil, o) })
	f("cost -1: a cost is not negative; to give units back use Refund", func(o *weir.Outcome) error { return b.Take(ctx, o, -1) })
	f("cost 0: a take asks for at least 1 unit; to look without taking use Peek", func(o *weir.Outcome) error { return b.Take(ctx, o, 0) })
	f("cost -1: a cost is not negative; to give units back use Refund", func(o *weir.Outcome) error { return b.Peek(ctx, o, -1) })
	f(noLimit, func(o *weir.Outcome) error { return b.TakeAll(ctx, o, weir.Take{Cost: 1}) })
	f(noLimit, func(o *weir.Outcome) error {
		return b.TakeAll(ctx, o, weir.Take{Limit: l, Cost: 1}, weir.Take{Limit: new(weir.Limit), Cost: 1})
	})
	f("limits 17: too many for one call; at most 16", func(o *weir.Outcome) error {
		takes := make([]weir.Take, 17)
		for i := range takes {
			takes[i] = weir.Take{Limit: l, Key: weir.Key{byte(i)}, Cost: 1}
		}
		return b.TakeAll(ctx, o, takes...)
	})
	if b.store.takes != 0 {
		t.Errorf("the store was asked %d times", b.store.takes)
	}

	g := func(want string, err error) {
		t.Helper()
		if !errors.Is(err, weir.ErrInvalid) || !strings.HasPrefix(err.Error(), "weir: "+want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	g("outcome nil: the answer needs a place; hand in new(weir.Outcome)", b.Take(ctx, nil, 1))
	g("outcome nil", b.Peek(ctx, nil, 1))
	g("outcome nil", b.TakeAll(ctx, nil))
	g("outcome nil", b.Refund(ctx, nil))
	g("outcome nil", weir.Decide(ctx, b.store, nil))
	g(noContext, b.Refund(nothing, new(weir.Outcome)))
	g(noContext, b.Reset(nothing, user()))
	g(noStore, zero.Refund(ctx, new(weir.Outcome)))
	g(noStore, zero.Reset(ctx, user()))
	ok, err := b.Allow(nothing, user())
	g(noContext, err)
	if ok2, err := zero.Allow(ctx, user()); ok || ok2 || err == nil {
		t.Error("nothing was decided, and it was allowed")
	}
}

// Costs that no take can have are errors also where no limit would see them.
func TestCostsAreCheckedWithoutLimits(t *testing.T) {
	o := new(weir.Outcome)
	for _, b := range []*bench{limited(t), limited(t, "deny"), limited(t, "unlimited")} {
		for _, cost := range []int64{0, -1, math.MinInt64} {
			if err := b.Take(t.Context(), o, cost, user()); !errors.Is(err, weir.ErrInvalid) || o.Allowed {
				t.Errorf("cost %d: allowed %v, %v", cost, o.Allowed, err)
			}
		}
	}
	b := limited(t)
	for _, l := range built(t, "unlimited", "deny") {
		if err := b.TakeAll(t.Context(), o, weir.Take{Limit: l, Cost: -1}); !errors.Is(err, weir.ErrInvalid) || o.Allowed {
			t.Errorf("%s: allowed %v, %v", l, o.Allowed, err)
		}
	}
}

// A store in memory never waits, and decides also for a caller who has gone.
func TestAContextThatIsOverDoesNotMatterInMemory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := limited(t, "5/s").Allow(ctx, user()); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestManyCallersShareALimiter(t *testing.T) {
	b := limited(t, "1000/h", "700/h fixed-window", "5000/day calendar Europe/Berlin")
	store := b.store.Store // which may be asked by many at once
	l, err := weir.New(store, built(t, "1000/h", "700/h fixed-window", "5000/day calendar Europe/Berlin")...)
	if err != nil {
		t.Fatal(err)
	}
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			o := new(weir.Outcome)
			for range 200 {
				if ok, err := l.Allow(t.Context(), user()); err != nil {
					t.Error(err)
				} else if ok {
					admitted.Add(1)
				}
				if err := l.Take(t.Context(), o, 2, user()); err != nil {
					t.Error(err)
				} else if o.Allowed {
					admitted.Add(2)
				}
				if err := l.Refund(t.Context(), o); err != nil {
					t.Error(err)
				} else if o.Allowed {
					admitted.Add(-2)
				}
			}
		})
	}
	wg.Wait()
	o := new(weir.Outcome)
	if err := l.Peek(t.Context(), o, 0, user()); err != nil {
		t.Fatal(err)
	}
	if used := 700 - o.Decisions[1].Remaining; used != admitted.Load() {
		t.Errorf("%d admitted, %d charged", admitted.Load(), used)
	}
}

func TestAllocationsOfTakes(t *testing.T) {
	f := func(n int, what string, call func()) {
		t.Helper()
		if got := testing.AllocsPerRun(1000, call); got != 0 {
			t.Errorf("%d limits, %s: %v allocations", n, what, got)
		}
	}
	for _, n := range []int{1, 3, 16} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = []string{"1000000/s", "1000000/s fixed-window", "1000000/day calendar UTC"}[i%3]
		}
		b := limited(t, texts...)
		ctx, o := t.Context(), new(weir.Outcome)
		addr := weir.Addr(netip.MustParseAddr("203.0.113.7"))
		f(n, "Allow", func() { _, _ = b.Allow(ctx, addr) })
		f(n, "Allow with three parts", func() { _, _ = b.Allow(ctx, addr, weir.Text("user", "42"), weir.Text("path", "/v1/jobs")) })
		f(n, "Take", func() { _ = b.Take(ctx, o, 2, addr) })
		f(n, "Peek", func() { _ = b.Peek(ctx, o, 0, addr) })
		f(n, "Take, refused", func() { _ = b.Take(ctx, o, 1_000_000, addr) })
		f(n, "Take and Refund", func() { _ = b.Take(ctx, o, 1, addr); _ = b.Refund(ctx, o) })
		takes := make([]weir.Take, n)
		for i, l := range built(t, texts...) {
			takes[i] = weir.Take{Limit: l, Cost: 1}
			takes[i].Key, takes[i].Tag = b.Key(user())
		}
		f(n, "TakeAll", func() { _ = b.TakeAll(ctx, o, takes...) })
	}
}

// A limiter names the limits that it charges, and keeps them whatever becomes of the
// list.
func TestLimitsAreTold(t *testing.T) {
	a, b := weir.MustLimit("a", "5/s"), weir.MustLimit("b", "9/h")
	l, err := weir.New(limited(t, "1/s").store, a, weir.MustLimit("c", "unlimited"), b, weir.MustLimit("d", "deny"))
	if err != nil {
		t.Fatal(err)
	}
	clear(l.Limits())
	if got := l.Limits(); !slices.Equal(got, []*weir.Limit{a, b}) {
		t.Errorf("%v", got)
	}
	if got := new(weir.Limiter).Limits(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
