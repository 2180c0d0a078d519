package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

// A verb asks for n units of a key. It gives what is to be done at the end where that was
// allowed.
type verb func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error)

// An end is that of a call. It gives back all slots, and says how many units of each rate
// stay charged.
type end func() (used int64, err error)

// A trial is a verb with the limits that it is to meet.
type trial struct {
	verb   verb
	limits []string
}

// trials are those of all verbs. What is asked for comes to some 500 units of a key, so
// that a hundred are a limit that is met: some of it passes, and some is refused.
func trials() map[string]trial {
	crowded := []string{
		"300/s burst 100", "100/min sliding-log overdraft 150", "300/s leaky-bucket queue 99",
		"100/min fixed-window", "100/min sliding-window", "2 concurrent",
	}
	// Within the few milliseconds of a Wait there is room again, and some come too late.
	soon := []string{
		"2000/s burst 5", "5 per 3ms sliding-log", "500/s leaky-bucket queue 3",
		"5 per 3ms fixed-window", "5 per 3ms sliding-window", "2 concurrent",
	}
	return map[string]trial{
		"Take":                {takes, crowded},
		"Take and Refund":     {takesAndRefunds, crowded},
		"TakeAll":             {takesAll, crowded},
		"TakeAtMost":          {takesAtMost, crowded},
		"Peek":                {peeksAndTakes, crowded},
		"Wait":                {waits, soon},
		"Reserve and Settle":  {reservesAndSettles, crowded},
		"Reserve and Cancel":  {reservesAndCancels, crowded},
		"Acquire and Release": {acquiresAndReleases, crowded},
	}
}

func takes(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	err := l.Take(ctx, o, n, key)
	return func() (int64, error) {
		return n, errors.Join(l.Renew(ctx, o), l.Release(ctx, o))
	}, err
}

// takesAndRefunds gives back half of what it gets: without the other half no rate
// would be used up.
func takesAndRefunds(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	err := l.Take(ctx, o, n, key)
	return func() (int64, error) {
		if n%2 == 1 {
			return n, l.Release(ctx, o)
		}
		return 0, l.Refund(ctx, o)
	}, err
}

// takesAll takes of two keys in one call, five units of each limit, whatever n is.
func takesAll(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	one, oneTag := l.Key(key)
	other, otherTag := l.Key(weir.Text("user", "eve"))
	var list []weir.Take
	for _, limit := range l.Limits() {
		list = append(list, weir.Take{Limit: limit, Key: one, Tag: oneTag, Cost: n})
		list = append(list, weir.Take{Limit: limit, Key: other, Tag: otherTag, Cost: 5 - n})
	}
	err := l.TakeAll(ctx, o, list...)
	return func() (int64, error) { return 5, l.Release(ctx, o) }, err
}

func takesAtMost(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	granted, err := l.TakeAtMost(ctx, o, 3*n, key)
	if granted > 3*n || (granted > 0) != o.Allowed {
		err = errors.Join(err, fmt.Errorf("granted %d of %d, allowed %t", granted, 3*n, o.Allowed))
	}
	return func() (int64, error) { return granted, l.Release(ctx, o) }, err
}

func peeksAndTakes(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	if err := l.Peek(ctx, o, n, key); err != nil || !o.Allowed {
		return nil, err
	}
	return takes(ctx, l, o, n, key)
}

func waits(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	err := l.Wait(short, o, n, key)
	_, inVain := errors.AsType[*weir.WaitError](err)
	switch {
	case (err == nil) != o.Allowed:
		err = fmt.Errorf("allowed %t, and the error is %w", o.Allowed, err)
	case inVain, errors.Is(err, context.DeadlineExceeded):
		err = nil
	}
	return func() (int64, error) { return n, l.Release(ctx, o) }, err
}

func reservesAndSettles(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	r, err := l.Reserve(ctx, o, 2, key)
	return func() (int64, error) {
		forgiven, err := r.Settle(ctx, n)
		return n - forgiven, err
	}, err
}

// reservesAndCancels cancels half of what it gets.
func reservesAndCancels(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	r, err := l.Reserve(ctx, o, n, key)
	return func() (int64, error) {
		if n%2 == 1 {
			_, err := r.Settle(ctx, n)
			return n, err
		}
		return 0, r.Cancel(ctx)
	}, err
}

func acquiresAndReleases(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
	slots, err := l.Acquire(ctx, o, n, key)
	return func() (int64, error) { return n, slots.Release(ctx) }, err
}

// What many callers were told by a verb at once has an order in which a store that
// decides one call after the other would have told them the same, is within what each
// limit promises, and comes to what they have used. So it is for every verb under each
// limit, under all of them, and for all verbs at once.
//
// Limits with a block are not among them: CheckLinearizable does not judge those.
func TestVerbsAreLinearizable(t *testing.T) {
	var every []verb
	for name, tr := range trials() {
		every = append(every, tr.verb)
		for _, text := range tr.limits {
			t.Run(name+"/"+strings.ReplaceAll(text, "/", " per "), func(t *testing.T) {
				t.Parallel()
				plays(t, tr.verb, text)
			})
		}
		t.Run(name+"/together", func(t *testing.T) {
			t.Parallel()
			plays(t, tr.verb, tr.limits...)
		})
	}
	t.Run("all verbs", func(t *testing.T) {
		t.Parallel()
		plays(t, func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) (end, error) {
			return every[rand.IntN(len(every))](ctx, l, o, n, key)
		}, trials()["Take"].limits...)
	})
}

// plays has a verb used by many at once under limits, and judges what they were told.
func plays(t *testing.T, do verb, texts ...string) {
	t.Helper()
	store, err := memstore.New(memstore.Config{MaxKeys: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	record, limits := storetest.Record(store), built(t, texts...)
	l, err := weir.New(record, limits...)
	if err != nil {
		t.Fatal(err)
	}
	used := rush(t, l, do)
	history := record.History()
	if err := storetest.CheckLinearizable(history, true); err != nil {
		t.Error(err)
	}
	met(t, history)
	for _, limit := range limits {
		if limit.Spec().Algorithm == weir.Concurrency {
			err = errors.Join(storetest.CheckSlots(history, limit), nobodyHolds(history, limit))
		} else {
			err = errors.Join(storetest.CheckWindows(history, limit), comesTo(history, limit, used))
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// rush has four callers use a verb 100 times each, and gives what they have used of each
// rate. None of them ends a call before all four have asked, so that more are at work at
// once than there are slots; ends and the next questions then come as they like.
func rush(t *testing.T, l *weir.Limiter, do verb) int64 {
	t.Helper()
	const callers = 4
	var asked [100]sync.WaitGroup
	for i := range asked {
		asked[i].Add(callers)
	}
	var used atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			o := new(weir.Outcome)
			for i := range asked {
				key := weir.Text("user", []string{"ann", "bob"}[rand.IntN(2)])
				end, err := do(t.Context(), l, o, 1+rand.Int64N(4), key)
				asked[i].Done()
				asked[i].Wait()
				n := int64(0)
				if err == nil && o.Allowed {
					n, err = end()
				}
				if err != nil {
					t.Error(err)
				}
				used.Add(n)
			}
		})
	}
	wg.Wait()
	return used.Load()
}

// met holds that so much has passed, and so much was refused, that a mistake shows; and
// that what may be granted in part was. Of several limits the fullest is in the way of
// what the others would refuse, so that here calls are counted.
func met(t *testing.T, h storetest.History) {
	t.Helper()
	const enough = 15
	allowed, refused, partial, cut := 0, 0, false, false
	for _, op := range h {
		switch {
		case op.Takes == nil:
			continue
		case op.Allowed:
			allowed++
		default:
			refused++
		}
		partial = partial || op.Takes[0].How&weir.Partial != 0
		cut = cut || op.Allowed && op.Decisions[0].Granted < op.Takes[0].Cost
	}
	if allowed < enough || refused < enough || partial && !cut {
		t.Errorf("%d calls allowed, %d refused, granted in part %t: this says nothing", allowed, refused, cut)
	}
}

// nobodyHolds looks for slots that were given, and not given back.
func nobodyHolds(h storetest.History, l *weir.Limit) error {
	held := map[weir.SlotID]bool{}
	for _, op := range h {
		for i, t := range op.Takes {
			if t.Limit == l && op.Decisions[i].Receipt.Cost > 0 {
				held[t.Slot] = true
			}
		}
	}
	for _, op := range h {
		for _, r := range op.Returns {
			if r.Limit == l && !r.Renew {
				delete(held, r.Slot)
			}
		}
	}
	if len(held) > 0 {
		return fmt.Errorf("limit %s: %d slots were not given back", l, len(held))
	}
	return nil
}

// comesTo adds up what was charged and what was given back, by all callers and to all
// keys.
func comesTo(h storetest.History, l *weir.Limit, used int64) error {
	charged := int64(0)
	for _, op := range h {
		for i, t := range op.Takes {
			if t.Limit == l && t.How&weir.Peek == 0 {
				charged += op.Decisions[i].Granted
			}
		}
		for _, r := range op.Returns {
			if r.Limit == l {
				charged -= r.Units
			}
		}
	}
	if charged != used {
		return fmt.Errorf("limit %s: %d units stay charged, and %d were used", l, charged, used)
	}
	return nil
}
