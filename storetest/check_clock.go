package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
)

const tenYears = weir.Micros(10 * 365 * 86_400_000_000)

// backwards reads clocks that run back, or back and forth without getting
// ahead: nothing is admitted beyond what was there at first.
func backwards(r *rig) error {
	return r.try(func(b *bench) {
		for i, text := range []string{"10/s burst 10", "10/s fixed-window", "10/s fixed-window spread", "10/s sliding-window", "10/s sliding-window spread", "1000000/day burst 10", "10/s leaky-bucket queue 9", "10/s sliding-log"} {
			l := weir.MustLimit(fmt.Sprintf("l%d", i), text)
			for _, step := range []weir.Micros{1, 1000, 500_000, 1_000_000, 3_600_000_000, tenYears} {
				name, admitted := fmt.Sprintf("alternating by %d", step), int64(0)
				b.clock.Set(began)
				for range 200 {
					admitted += b.ask(b.take(l, name, 1)).Granted
					b.clock.Set(began - step)
					admitted += b.ask(b.take(l, name, 1)).Granted
					b.clock.Set(began)
				}
				b.want(text+", "+name+": admitted", admitted, int64(10))
			}
			name, admitted := "walking back", int64(0)
			b.clock.Set(began)
			for range 200 {
				admitted += b.ask(b.take(l, name, 1)).Granted
				b.clock.Advance(-weir.Micros(b.rng.Int64N(int64(tenYears) / 200)))
			}
			if admitted < 1 || admitted > 10 {
				b.failf("%s, %s: admitted: got %d, want 10 at most", text, name, admitted)
			}
		}
	})
}

// forwards jumps ahead from an empty bucket, over and over.
func forwards(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("api", "10/s burst 10")
		for _, jump := range []weir.Micros{0, 1, 99_999, 100_000, 100_001, 250_000, 999_999, 1_000_000, 3_600_000_000, tenYears} {
			name := fmt.Sprint(jump)
			b.drain(l, name)
			b.clock.Advance(jump)
			b.want(fmt.Sprintf("admitted after a jump of %d µs", jump), b.drain(l, name), min(10, int64(jump)/100_000))
		}
		w := weir.MustLimit("window", "10/s fixed-window")
		d := b.granted(w, "k", 10)
		b.clock.Advance(d.ResetAfter - 1)
		b.refused(w, "k", 1)
		b.clock.Advance(1)
		b.want("admitted in the next window", b.drain(w, "k"), int64(10))
		b.clock.Advance(tenYears)
		b.want("admitted in one that is far ahead", b.drain(w, "k"), int64(10))
	})
}

// slides empties a sliding window at the end of a window of its grid: the units
// come back one by one in the next one.
func slides(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("sliding", "10/s sliding-window")
		d := b.granted(l, "k", 3)
		b.clock.Advance(d.ResetAfter - 1_000_001) // to the last instant of the window
		b.want("left at its end", b.drain(l, "k"), int64(7))
		b.clock.Advance(1)
		for range 10 {
			d := b.refused(l, "k", 1)
			b.want("the wait for a unit of ten that weigh less and less", d.RetryAfter, weir.Micros(100_000))
			b.clock.Advance(d.RetryAfter - 1)
			b.want("left one µs before", b.left(l, "k"), int64(0))
			b.clock.Advance(1)
			b.granted(l, "k", 1)
		}
		b.clock.Advance(500_000)
		b.want("left after half a window without traffic", b.left(l, "k"), int64(4)) // 1 was charged in this one, of 9 in the one before 4 1/2 are left
	})
}

func neverRunsBack(r *rig) error {
	return r.try(func(b *bench) {
		l, latest := weir.MustLimit("api", "1000000/s"), weir.Micros(0)
		for range 1000 {
			b.granted(l, "k", 1)
			if b.stamp.Now < latest {
				b.failf("an answer at %d after one at %d on the same state", b.stamp.Now, latest)
			}
			latest = b.stamp.Now
			b.clock.Advance(weir.Micros(b.rng.Int64N(2001)) - 1000)
		}
	})
}

func calendarIsStale(r *rig) error {
	return r.try(func(b *bench) {
		day, other := weir.MustLimit("day", "5/day calendar UTC"), slow("other", 10)
		t := b.take(day, "k", 1)
		b.stale("no edges", t, b.take(other, "k", 1))
		t.Edges = &weir.Edges{1, 2, 3, 4}
		b.stale("edges long past", b.take(other, "k", 1), t)
		t.Edges = &weir.Edges{began + tenYears*5, began + tenYears*6, began + tenYears*7, began + tenYears*8}
		b.stale("edges to come", t)
		b.want("left of the other limit", b.left(other, "k"), int64(10))

		o := &weir.Outcome{Takes: []weir.Take{b.take(day, "k", 2), b.take(other, "k", 1)}}
		b.decide(o)
		b.want("Decide asks once more: allowed", o.Allowed, true)
		b.want("left of the day", o.Decisions[0].Remaining, int64(3))
	})
}

// stale wants ErrStale, with the time that it was.
func (b *bench) stale(what string, takes ...weir.Take) {
	if b.err != nil {
		return
	}
	out := make([]weir.Decision, len(takes))
	_, stamp, err := b.store.Take(context.Background(), takes, out)
	if !errors.Is(err, weir.ErrStale) {
		b.failf("%s: got error %v, want %w", what, err, weir.ErrStale)
	}
	if stamp.Now == 0 {
		b.failf("%s: the stamp does not say which time it was", what)
	}
}

// decide asks as a Limiter does.
func (b *bench) decide(o *weir.Outcome) {
	if err := weir.Decide(context.Background(), b.store, o); err != nil {
		b.failf("Decide: %w", err)
	}
	if b.err != nil {
		o.Decisions = make([]weir.Decision, len(o.Takes))
	}
}

// calendarTurns waits for midnight in two zones, one of which has just set its
// clocks ahead.
func calendarTurns(r *rig) error {
	var errs []error
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		where, err := time.LoadLocation(zone)
		if err != nil {
			return err
		}
		date := func(m time.Month, day, hour int) weir.Micros {
			return weir.Micros(time.Date(2027, m, day, hour, 30*min(hour, 1), 0, 0, where).UnixMicro())
		}
		sunday := date(3, 28, 1)
		for unit, end := range map[string]weir.Micros{"day": date(3, 29, 0), "week": date(3, 29, 0), "month": date(4, 1, 0)} {
			errs = append(errs, r.try(func(b *bench) {
				b.turnsOver(weir.MustLimit("calendar", fmt.Sprintf("5/%s calendar %s", unit, zone)), sunday, end)
			}))
		}
	}
	return errors.Join(errs...)
}

func (b *bench) turnsOver(l *weir.Limit, now, end weir.Micros) {
	name := l.String()
	b.clock.Set(now)
	o := &weir.Outcome{Takes: []weir.Take{b.take(l, "k", 5)}}
	b.decide(o)
	b.want(name+": 5 of 5", o.Allowed, true)
	o.Takes[0].Cost = 1
	b.decide(o)
	b.want(name+": a sixth", o.Allowed, false)
	b.want(name+": the wait", o.RetryAfter, end-now)
	b.clock.Set(end - 1)
	b.decide(o)
	b.want(name+": one µs before the edge", o.Allowed, false)
	b.clock.Set(end)
	b.decide(o)
	b.want(name+": at the edge", o.Allowed, true)
	b.want(name+": left", o.Decisions[0].Remaining, int64(4))
}
