package weir_test

import (
	"context"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestPenaltyIsNamedByTheStates(t *testing.T) {
	a, b := weir.MustLimit("login", "5/min block 10m"), weir.MustLimit("login", "5/min fixed-window block 1m x 2 max 1h")
	kept, err := weir.NewLimitKeeping("signin", "login", a.Spec())
	if err != nil {
		t.Fatal(err)
	}
	other, none := weir.MustLimit("other", "5/min block 10m"), weir.MustLimit("login", "5/min")
	if none.Penalty() != nil || a.Penalty().ID() != b.Penalty().ID() || a.Penalty().ID() != kept.Penalty().ID() {
		t.Error("the penalty is not that of the name of the states")
	}
	if a.Penalty().ID() == a.ID() || a.Penalty().ID() == other.Penalty().ID() {
		t.Error("the penalty shares its state with another")
	}
	if a.Penalty().Version() == b.Penalty().Version() || a.Penalty().Version() != kept.Penalty().Version() {
		t.Error("a version is not that of the numbers of the block")
	}
	if a.Memory() != none.Memory()+32 || a.Penalty().Rule() != "login" {
		t.Errorf("%d bytes, rule %s", a.Memory(), a.Penalty().Rule())
	}
	if one, full := b.Pins(); one.Duration() != time.Minute || full.Duration() != 2*time.Hour {
		t.Errorf("pinned for %d and %d µs", one, full)
	}
}

func TestBlocksThatCannotBe(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := weir.ParseLimit("a", text); err == nil || err.Error() != want {
			t.Errorf("%s: got error %v, want %s", text, err, want)
		}
	}
	f("5/s block 30000d", "weir: block 30000d: it lasts at most 26062d; write 26062d or less")
	f("5/s block 1d x 2 max 30000d", "weir: block max 30000d: it lasts at most 26062d; write 26062d or less")
}

// A block holds while it lasts, under that limit and for that key alone.
func TestBlock(t *testing.T) {
	b := limited(t, "2/s block 1m", "100/h")
	if !b.take(2).Allowed || b.take(1).Allowed {
		t.Error("two of two, and no third")
	}
	b.clock.advance(59 * time.Second)
	o := b.take(1)
	if o.Allowed || o.RetryAfter.Duration() != time.Second || o.Limit() != o.Takes[0].Limit || o.Decisions[1].Receipt.Cost != 0 {
		t.Errorf("a second before the block ends: %+v", o)
	}
	b.clock.advance(time.Second)
	if !b.take(1).Allowed {
		t.Error("refused when the block is over")
	}
}

// To ask several limits for more than there is would be a refusal.
func TestTakeAtMostDoesNotAskForABlock(t *testing.T) {
	b := limited(t, "5/s block 1h", "3/s block 1h")
	for _, want := range []int64{3, 0} {
		if got, _ := b.atMost(9); got != want {
			t.Errorf("granted %d, want %d", got, want)
		}
	}
	b.clock.advance(time.Hour)
	if got, _ := b.atMost(9); got != 3 {
		t.Errorf("granted %d after the block, want 3", got)
	}
}

// Who waits for his turn is not blocked for it.
func TestWaitBeginsNoBlock(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		began, o := time.Now(), new(weir.Outcome)
		for range 3 {
			if err := b.Wait(t.Context(), o, 1, user()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("three turns took %v", took)
		}
	}, "20/s burst 1 block 1h")
}

// Who is blocked waits for the end of it, and not for what comes after the deadline.
func TestWaitForTheEndOfABlock(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		o := new(weir.Outcome)
		for _, want := range []bool{true, false} {
			if err := b.Take(t.Context(), o, 1, user()); err != nil || o.Allowed != want || o.Decision().Blocked == want {
				t.Fatalf("%v, %+v", err, o.Decision())
			}
		}
		soon, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		b.waits(soon, 1, 0, context.DeadlineExceeded)
		b.waits(t.Context(), 1, time.Minute, nil)
		b.waits(t.Context(), 1, 50*time.Millisecond, nil) // which was no refusal
	}, "20/s burst 1 block 1m x 2 max 1h")
}

// A reservation that is refused begins a block; one that was granted before is settled
// and given back through it, and that frees nobody.
func TestReservationsBesideABlock(t *testing.T) {
	b := limited(t, "10/h overdraft 20 block 3h")
	o := new(weir.Outcome)
	reserve := func(units int64) *weir.Reservation {
		t.Helper()
		r, err := b.Reserve(t.Context(), o, units, user())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, second := reserve(5), reserve(5)
	if r := reserve(1); r != nil || !o.Decision().Blocked || o.RetryAfter.Duration() != 3*time.Hour {
		t.Errorf("nothing is left: %+v", o)
	}
	if forgiven, err := first.Settle(t.Context(), 9); err != nil || forgiven != 0 {
		t.Errorf("settled through a block: %d forgiven, %v", forgiven, err)
	}
	if err := second.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if r := reserve(1); r != nil || !o.Decision().Blocked || o.RetryAfter.Duration() != 3*time.Hour {
		t.Errorf("what came back frees nobody: %+v", o)
	}
	b.clock.advance(3 * time.Hour)
	if r := reserve(10); r == nil {
		t.Errorf("after it: %+v", o)
	}
}
