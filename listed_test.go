package weir_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func TestLogsAndSlots(t *testing.T) {
	f := func(text string, capacity, overdraft int64, memory int, perPeriod int64, pins weir.Micros) {
		t.Helper()
		l, err := weir.ParseLimit("api", text)
		if err != nil {
			t.Error(err)
			return
		}
		one, full := l.Pins()
		period := weir.Micros(max(1, l.Spec().Period.Microseconds()))
		if l.Capacity() != capacity || l.Algorithm().Overdraft() != overdraft || l.Memory() != memory || l.Most(period) != perPeriod || one != pins || full != pins {
			t.Errorf("%s: capacity %d, overdraft %d, memory %d, %d in a period, pins %d and %d", text, l.Capacity(), l.Algorithm().Overdraft(), l.Memory(), l.Most(period), one, full)
		}
		if again := weir.MustLimit("api", l.String()); again.Version() != l.Version() {
			t.Errorf("%s is printed as %s, which is another", text, l)
		}
	}
	f("1/s sliding-log", 1, 1, 32+64, 1, 1_000_000)
	f("2/s sliding-log", 2, 2, 32+2*64, 2, 1_000_000)
	f("10/min sliding-log", 10, 10, 32+3*64, 10, 60_000_000)
	f("10/min overdraft 30 sliding-log", 10, 30, 32+6*64, 10, 60_000_000)
	f("4095/day sliding-log", 4095, 4095, 32+586*64, 4095, 86_400_000_000)
	f("1 concurrent", 1, 1, 64, math.MaxInt64, 60_000_000)
	f("5 concurrent lease 90s", 5, 5, 32+5*32, math.MaxInt64, 90_000_000)
	f("4095 concurrent lease 1ms", 4095, 4095, 4096*32, math.MaxInt64, 1000)

	for text, memory := range map[string]int{"5/s": 32, "5/s fixed-window": 32, "5/s sliding-window": 32, "5/s leaky-bucket queue 2": 32, "unlimited": 0, "deny": 0} {
		if l := weir.MustLimit("api", text); l.Memory() != memory {
			t.Errorf("%s takes %d bytes, want %d", text, l.Memory(), memory)
		}
	}
	if l := weir.MustLimit("api", "7/s sliding-log"); l.Most(0) != 0 || l.Most(1) != 7 || l.Most(1_000_001) != 14 || l.Most(math.MaxInt64) != 7*9_223_372_036_855 {
		t.Errorf("%s: at most %d, %d, %d and %d", l, l.Most(0), l.Most(1), l.Most(1_000_001), l.Most(math.MaxInt64))
	}
	if l := weir.MustLimit("api", "7 concurrent"); l.Most(0) != 0 {
		t.Errorf("%s: %d in no time", l, l.Most(0))
	}
}

func TestImpossibleLogsAndSlotsAreRefused(t *testing.T) {
	f := func(text string, offset int, sentence string) {
		t.Helper()
		wantRefusal(t, text, offset, sentence)
	}
	f("4096/min sliding-log", 0, "weir: count 4096: a sliding log remembers each charge, and has room for 4095; write at most 4095, or sliding-window, which counts without remembering")
	f("10/min sliding-log overdraft 9", 29, "weir: overdraft 9: it may be no smaller than the count of 10; leave it out, or raise it")
	f("10/min sliding-log overdraft 4096", 29, "weir: overdraft 4096: a sliding log remembers each charge, and has room for 4095; write at most 4095")
	f("4096 concurrent", 0, "weir: count 4096: a concurrent limit remembers each holder, and has room for 4095; write at most 4095")
	f("5 concurrent lease 999us", 19, "weir: lease 999us: it lasts at least 1ms; write a longer one, such as 1m")
	if _, err := weir.NewLimit("api", weir.Spec{Algorithm: weir.Concurrency, Count: 5, Lease: 999_000}); err == nil || !strings.Contains(err.Error(), "weir: lease 999us: it lasts at least 1ms") {
		t.Error(err)
	}
}

// A log of another period would forget what the longer one counts: it has states of
// its own. Another count has not, and a lease is no part of whose slots they are.
func TestWhoseStateALogIs(t *testing.T) {
	id := func(text string) [16]byte { return weir.MustLimit("api", text).ID() }
	if id("5/s sliding-log") == id("5/min sliding-log") {
		t.Error("two periods share their states")
	}
	if id("5/s sliding-log") != id("7/s overdraft 9 sliding-log") || id("5 concurrent") != id("7 concurrent lease 1h") {
		t.Error("another count has other states")
	}
	if id("5/s sliding-log") == id("5/s sliding-window") || id("5/s sliding-log") == id("5/s") {
		t.Error("two algorithms share their states")
	}
}

// What can never be right of slots is refused before a store is asked anything.
func TestSlotsThatAreRefused(t *testing.T) {
	slots, rate := weir.MustLimit("slots", "5 concurrent"), weir.MustLimit("rate", "5/s")
	lowered := weir.MustLimit("slots", "4 concurrent")
	id := weir.SlotID{1}
	good := weir.Take{Limit: slots, Cost: 1, Slot: id}
	with := func(change func(*weir.Take)) weir.Take {
		t := good
		change(&t)
		return t
	}
	other := with(func(t *weir.Take) { t.Slot = weir.SlotID{2} })
	look := with(func(t *weir.Take) { t.Slot, t.How, t.Cost = weir.SlotID{}, weir.Peek, 0 })
	f := func(what string, sentence string, takes ...weir.Take) {
		t.Helper()
		err := weir.CheckTakes(takes, make([]weir.Decision, len(takes)))
		if sentence == "" && err == nil {
			return
		}
		if !errors.Is(err, weir.ErrInvalid) || sentence == "" || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: %v; want %s", what, err, sentence)
		}
	}
	f("one", "", good)
	f("two", "", good, other)
	f("the same in part", "", with(func(t *weir.Take) { t.How = weir.Partial }))
	f("looks", "", look, look, good)
	f("a look for a holder", "", with(func(t *weir.Take) { t.How = weir.Peek }))
	f("the same holder under another key", "", good, with(func(t *weir.Take) { t.Key = weir.Key{1} }))
	f("beside a rate", "", good, weir.Take{Limit: rate, Cost: 3})

	f("two units", "cost 2: a take asks for one slot", with(func(t *weir.Take) { t.Cost = 2 }))
	f("a look for two", "cost 2: a take asks for one slot", with(func(t *weir.Take) { t.Cost, t.How = 2, weir.Peek }))
	f("nothing", "cost 0: a take asks for one slot", with(func(t *weir.Take) { t.Cost = 0 }))
	f("force", "how 8: nobody is given a slot by force", with(func(t *weir.Take) { t.How = weir.Force }))
	f("always", "how 4: nobody is given a slot by force", with(func(t *weir.Take) { t.How = weir.Always }))
	f("nobody", "slot: limit slots is one of slots, and this is nobody's", with(func(t *weir.Take) { t.Slot = weir.SlotID{} }))
	f("a rate", "slot rate: the limit has no slots", with(func(t *weir.Take) { t.Limit = rate }))
	f("twice", "slot slots: two takes of one call are for the same holder", good, other, with(func(t *weir.Take) { t.Join = weir.Alone }))
	f("once to look", "two takes of one call are for the same holder", good, with(func(t *weir.Take) { t.How = weir.Peek }))
	f("other numbers", "judge the same state by different numbers", good, with(func(t *weir.Take) { t.Limit, t.Slot = lowered, weir.SlotID{2} }))
}

func TestReturnsOfSlotsThatAreRefused(t *testing.T) {
	slots, rate := weir.MustLimit("slots", "5 concurrent"), weir.MustLimit("rate", "5/s")
	id, receipt := weir.SlotID{1}, weir.Receipt{At: 5, Cost: 1}
	f := func(sentence string, r weir.Return) {
		t.Helper()
		err := weir.CheckReturns([]weir.Return{r})
		if sentence == "" && err == nil {
			return
		}
		if !errors.Is(err, weir.ErrInvalid) || sentence == "" || !strings.Contains(fmt.Sprint(err), sentence) {
			t.Errorf("%+v: %v; want %s", r, err, sentence)
		}
	}
	f("", weir.Return{Limit: slots, Slot: id})
	f("", weir.Return{Limit: slots, Slot: id, Renew: true})
	f("slot: limit slots is one of slots, and this is nobody's", weir.Return{Limit: slots})
	f("slot: limit slots is one of slots, and this is nobody's", weir.Return{Limit: slots, Receipt: receipt, Units: 1})
	f("units 1: a slot is given back by its holder's name", weir.Return{Limit: slots, Slot: id, Units: 1})
	f("units 0: a slot is given back by its holder's name", weir.Return{Limit: slots, Slot: id, Receipt: receipt})
	f("slot rate: the limit has no slots", weir.Return{Limit: rate, Slot: id, Receipt: receipt, Units: 1})
	f("slot rate: the limit has no slots", weir.Return{Limit: rate, Renew: true, Receipt: receipt, Units: 1})
}
