package weir_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// An errand is one request of a caller: after a pause he asks for so many units, and
// waits for as long as his patience lasts.
type errand struct {
	pause, patience time.Duration // no patience is to take what there is, and not to wait
	leaves          bool          // when it is over, having told nobody before
	cost            int64
}

// endless is more patience than a test of a few errands takes.
const endless = 24 * time.Hour

// errands draws what a caller does.
func errands(rt *rapid.T, label string, patience ...time.Duration) []errand {
	var list []errand
	for range rapid.IntRange(1, 8).Draw(rt, label) {
		list = append(list, errand{
			pause:    time.Duration(rapid.Int64Range(0, 1_500_000).Draw(rt, "pause")) * time.Microsecond,
			patience: rapid.SampledFrom(patience).Draw(rt, "patience"),
			leaves:   rapid.Bool().Draw(rt, "leaves"),
			cost:     rapid.Int64Range(1, 3).Draw(rt, "cost"),
		})
	}
	return list
}

// waitedFor draws some limits, each of which has room for any errand.
func waitedFor(rt *rapid.T) []string {
	texts := []string{"5/s burst 3", "4 per 700ms sliding-log", "6 per 1100ms fixed-window", "5/s sliding-window", "4/s leaky-bucket queue 3"}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 1, 3, rapid.ID[string]).Draw(rt, "limits")
}

// With nobody else, who waits passes exactly when the refusal has said: the wait is
// that of Take's RetryAfter, and what a leaky bucket adds to it.
func TestWaitTakesAsLongAsTold(t *testing.T) {
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		texts, list := waitedFor(rt), errands(rt, "errands", endless)
		var err error
		bubbled(t, func(t *testing.T, b *bench) {
			for _, e := range list {
				pass(e.pause)
				told := b.looksAt(e.cost)
				if !told.Allowed {
					refused++
				}
				o, began := new(weir.Outcome), time.Now()
				failed := b.Wait(t.Context(), o, e.cost, user())
				if took, want := time.Since(began), (told.RetryAfter + o.Delay).Duration(); failed != nil || took != want {
					err = errors.Join(err, fmt.Errorf("%v: %d units after %s, error %w; want %s", texts, e.cost, took, failed, want))
				}
			}
		}, texts...)
		if err != nil { // no errand is drawn, and nothing fails, within the bubble
			rt.Fatal(err)
		}
	})
	if refused == 0 {
		t.Error("nobody had to wait")
	}
}

// looksAt is what a Take of a cost would find.
func (b *bench) looksAt(cost int64) *weir.Outcome {
	b.t.Helper()
	o := new(weir.Outcome)
	if err := b.Peek(b.t.Context(), o, cost, user()); err != nil {
		b.t.Fatal(err)
	}
	return o
}

// What passes after a Wait and what passes at once are together, in any stretch of time,
// no more than each limit promises: also where others give up while they wait.
func TestWhoWaitsIsWithinTheLimit(t *testing.T) {
	var all logbook
	rapid.Check(t, func(rt *rapid.T) {
		texts := waitedFor(rt)
		callers := make([][]errand, rapid.IntRange(1, 4).Draw(rt, "callers"))
		for i := range callers {
			callers[i] = errands(rt, "errands", 0, 200*time.Millisecond, time.Second, endless)
		}
		var passed logbook
		synctest.Test(t, func(t *testing.T) {
			store, err := memstore.New(memstore.Config{MaxKeys: 100, Now: func() weir.Micros { return weir.Micros(time.Now().UnixMicro()) }})
			if err != nil {
				t.Fatal(err)
			}
			l, err := weir.New(store, built(t, texts...)...)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for _, list := range callers {
				wg.Go(func() { passed.runs(t.Context(), l, list) })
			}
			wg.Wait()
			for _, limit := range l.Limits() {
				passed.within(limit)
			}
		})
		if passed.err != nil {
			rt.Fatalf("%v: %v", texts, passed.err)
		}
		all.waited, all.gaveUp, all.atOnce = all.waited+passed.waited, all.gaveUp+passed.gaveUp, all.atOnce+passed.atOnce
	})
	if all.waited == 0 || all.gaveUp == 0 || all.atOnce == 0 {
		t.Errorf("%d have waited, %d gave up, %d passed at once: this says nothing", all.waited, all.gaveUp, all.atOnce)
	}
}

// A logbook is what several callers were told. It is safe for concurrent use.
type logbook struct {
	mu      sync.Mutex
	entries []entry
	err     error

	waited, gaveUp, atOnce int // how many of the errands
}

// An entry is what has passed.
type entry struct {
	at    weir.Micros // of the store's decision
	delay weir.Micros // after which it went on
	units int64
}

// runs does errands one after the other.
func (p *logbook) runs(ctx context.Context, l *weir.Limiter, list []errand) {
	for _, e := range list {
		time.Sleep(e.pause)
		o, began := new(weir.Outcome), time.Now()
		var err error
		if e.patience == 0 {
			err = l.Take(ctx, o, e.cost, user())
		} else {
			short, cancel := e.context(ctx)
			err = l.Wait(short, o, e.cost, user())
			cancel()
		}
		p.add(e, o, began, err)
	}
}

// context ends when the errand's patience does.
func (e errand) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if !e.leaves {
		return context.WithTimeout(ctx, e.patience)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(e.patience, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// add notes how an errand that began at some time has ended, now.
func (p *logbook) add(e errand, o *weir.Outcome, began time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	waits, took := e.patience > 0, now.Sub(began)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && waits && !o.Allowed && took <= e.patience && e.patience < endless:
		p.gaveUp++
	case err != nil, waits && !o.Allowed, waits && weir.Micros(now.UnixMicro()) != o.Stamp.Now+o.Delay:
		p.err = errors.Join(p.err, fmt.Errorf("%+v ended after %s: error %w, decided at %d, %+v", e, took, err, o.Stamp.Now, o))
	case o.Allowed:
		p.entries = append(p.entries, entry{at: o.Stamp.Now, delay: o.Delay, units: e.cost})
		if took > 0 {
			p.waited++
		} else {
			p.atOnce++
		}
	}
}

// within holds what has passed against a limit's promise, over every stretch of time
// from one entry to another. A leaky bucket's is of what goes on.
func (p *logbook) within(l *weir.Limit) {
	instant := func(e entry) weir.Micros {
		if l.Spec().Algorithm == weir.LeakyBucket {
			return e.at + e.delay
		}
		return e.at
	}
	for _, first := range p.entries {
		for _, last := range p.entries {
			from, to, sum := instant(first), instant(last), int64(0)
			for _, e := range p.entries {
				if at := instant(e); from <= at && at <= to {
					sum += e.units
				}
			}
			if span := to - from + 1; span > 0 && sum > l.Most(span) {
				p.err = errors.Join(p.err, fmt.Errorf("%s: %d units within %d µs, where %d is the most", l, sum, span, l.Most(span)))
			}
		}
	}
}
