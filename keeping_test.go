package weir_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func keeping(t *testing.T, name, states, text string) *weir.Limit {
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

// A limit that keeps another's states shows its own name, and is the other one to
// a store.
func TestLimitThatKeepsStates(t *testing.T) {
	for _, text := range []string{"5/s", "5/min fixed-window spread", "5/day calendar UTC", "deny"} {
		old, l := weir.MustLimit("api/1m", text), keeping(t, "jobs/one", "api/1m", text)
		if l.Name() != "jobs/one" || l.Rule() != "jobs" || l.Slot() != "one" || l.States() != "api/1m" || old.States() != "api/1m" {
			t.Errorf("%s: %s of rule %s, slot %s, states of %s", text, l.Name(), l.Rule(), l.Slot(), l.States())
		}
		if l.ID() != old.ID() || l.Version() != old.Version() || l.Spec() != old.Spec() || l.String() != old.String() {
			t.Errorf("%s: it is another limit", text)
		}
		if own := keeping(t, "api/1m", "api/1m", text); own.Version() != old.Version() {
			t.Errorf("%s: a limit that keeps its own states is another", text)
		}
	}
	if keeping(t, "jobs", "api", "5/s").ID() == weir.MustLimit("jobs", "5/s").ID() {
		t.Error("a limit has the states of its own name, and was told to keep others")
	}
}

func TestStatesNeedAName(t *testing.T) {
	f := func(name, states string, fields ...string) {
		t.Helper()
		_, err := weir.NewLimitKeeping(name, states, weir.Spec{Count: 1, Period: 1000})
		var got []string
		for _, e := range refusals(t, err) {
			got = append(got, e.Field)
		}
		if strings.Join(got, " ") != strings.Join(fields, " ") {
			t.Errorf("%q keeps %q: %v", name, states, err)
		}
	}
	f("api", "", "states")
	f("api", "Old", "states")
	f("", "", "name")
	f("Api", "Old", "name", "states")
	f("Api", "old", "name")
}

// A limiter has no two limits with the same states, under whatever names.
func TestLimiterRefusesSharedStates(t *testing.T) {
	b := limited(t)
	api, jobs, day := weir.MustLimit("api", "5/s"), keeping(t, "jobs", "api", "7/s"), keeping(t, "day", "api", "9/day")
	for _, limits := range [][]*weir.Limit{{api, jobs}, {jobs, api}, {jobs, day}} {
		_, err := weir.New(b.store.Store, limits...)
		want := "weir: limit " + limits[1].Name() + ": its states are those of another limit here, api; keep the states of a limit that is gone"
		if !errors.Is(err, weir.ErrInvalid) || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if _, err := weir.New(b.store.Store, jobs, keeping(t, "api", "jobs", "5/s")); err != nil {
		t.Errorf("two limits that exchange their states: %v", err)
	}
}

// What a limit promises, and how long a key of it holds its room, by its text.
func TestBoundsOfLimits(t *testing.T) {
	const hour = weir.Micros(3_600_000_000)
	const day = 24 * hour
	f := func(text string, span weir.Micros, most int64, one, full weir.Micros) {
		t.Helper()
		l := weir.MustLimit("api", text)
		gotOne, gotFull := l.Pins()
		if got := l.Most(span); got != most || gotOne != one || gotFull != full {
			t.Errorf("%s: at most %d in %d µs, pins of %d and %d; want %d, %d, %d", text, got, span, gotOne, gotFull, most, one, full)
		}
	}
	f("30/day", day, 59, 48*hour/60, day)
	f("30/day", day+1, 60, 48*hour/60, day)
	f("3/s burst 10", 1, 10, 333_334, 3_333_334)
	f("30/day fixed-window", day, 60, day, day)
	f("30/day fixed-window", 1, 30, day, day)
	f("30/day calendar Europe/Berlin", 23*hour+1, 60, 25*hour, 25*hour)
	f("30/day calendar Europe/Berlin", 23*hour+2, 90, 25*hour, 25*hour)
	f("30/week calendar Europe/Berlin", 7*day-hour+2, 90, 7*day+hour, 7*day+hour)
	f("30/month calendar Europe/Berlin", 28*day-hour+1, 60, 31*day+hour, 31*day+hour)
	f("30/month calendar Europe/Berlin", 28*day-hour+2, 90, 31*day+hour, 31*day+hour)
	f("30/day calendar UTC", day+1, 60, day, day)
	f("30/day calendar UTC", day+2, 90, day, day)
	f("30/week calendar UTC", 7*day+1, 60, 7*day, 7*day)
	f("30/month calendar UTC", 28*day+1, 60, 31*day, 31*day)
	f("30/month calendar UTC", 28*day+2, 90, 31*day, 31*day) // all of February, and an instant on either side
	f("30/day calendar Etc/GMT+5", day+1, 60, day, day)
	f("30/day calendar Asia/Tokyo", day+1, 90, 25*hour, 25*hour) // which had summer time, and may have it again
	f("deny", day, 0, 0, 0)
	f("unlimited", 1, math.MaxInt64, 0, 0)
	f("unlimited", 0, 0, 0, 0)
}
