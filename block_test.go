package weir_test

import (
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
	f("5/s block 30000d", "weir: block 30000d: it lasts at most 71 years")
	f("5/s block 1d x 2 max 30000d", "weir: block max 30000d: it lasts at most 71 years")
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
