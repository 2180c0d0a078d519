package algorithm_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/algorithm"
)

func slotsOf(t rapid.TB, limit int64, lease micros) *algorithm.Concurrency {
	t.Helper()
	c, err := algorithm.NewConcurrency(limit, lease)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A guest has a slot until his time is over. He is not in order with others.
type guest struct{ until int64 }

// A house has guests; it counts them and looks at one instant after the other.
type house []guest

func (h house) live(now micros) (n int64) {
	for _, g := range h {
		if g.until > int64(now) {
			n++
		}
	}
	return n
}

// wait is when so many more fit, by looking at every instant at which somebody goes.
func (h house) wait(now micros, cost, limit int64) micros {
	if h.live(now)+cost <= limit || cost == 0 {
		return 0
	}
	first := int64(math.MaxInt64)
	for _, g := range h {
		if g.until > int64(now) && h.live(micros(g.until))+cost <= limit {
			first = min(first, g.until)
		}
	}
	return micros(first) - now
}

// list is what a store keeps of it.
func (h house) list() (l pieces) {
	for _, g := range h {
		l = append(l, piece{micros(g.until), 1})
	}
	slices.SortFunc(l, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
	return l
}

// Slots are given out, renewed and given back, under limits that change, by a clock
// that runs both ways; every answer is held against a house of guests.
func TestConcurrencyIsTheHouse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var limits []*algorithm.Concurrency
		for range rapid.IntRange(1, 3).Draw(t, "limits") {
			limits = append(limits, slotsOf(t, rapid.Int64Range(1, 5).Draw(t, "limit"), micros(rapid.Int64Range(1000, 1010).Draw(t, "lease"))))
		}
		besideHouse(t, rapidDice{t}, limits, 60)
	})
}

// FuzzConcurrency takes slots, under two limits in turn, through the steps that the
// bytes spell.
func FuzzConcurrency(f *testing.F) {
	f.Add(uint8(2), uint8(0), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add(uint8(4), uint8(1), []byte("guests come, stay, and leave, under a limit that is smaller for some, over and over"))
	f.Add(uint8(1), uint8(6), []byte("\x03\x00\x02\x03\x05\x00\x01\x02\x06\x01\x01\x03\x07\x00\x00\x02 the clock runs back, and a lease becomes no shorter"))
	f.Fuzz(func(t *testing.T, one, two uint8, moves []byte) {
		limits := []*algorithm.Concurrency{slotsOf(t, int64(one%7)+1, 1000), slotsOf(t, int64(two%7)+1, 1000+micros(two%5))}
		besideHouse(t, &bytesDice{moves}, limits, min(len(moves), 100))
	})
}

// besideHouse takes a key through steps that dice decide, under limits in turn, and
// holds every answer against a house.
func besideHouse(t rapid.TB, d dice, limits []*algorithm.Concurrency, steps int) {
	t.Helper()
	var guests house
	clock := [...]micros{0, 1, 3, 300, 999, 1005, -1, -200}
	now := micros(5000)
	for range steps {
		now = max(1, now+clock[d.Int64N(int64(len(clock)))])
		c := limits[d.Int64N(int64(len(limits)))]
		cost := d.Int64N(c.Capacity() + 2)
		list := guests.list()
		m, s := list.moment(now), list.tally(c, now)
		got, want := c.Judge(s, m, cost), algorithm.Verdict{Never: true}
		if cost <= c.Capacity() {
			wait := guests.wait(now, cost, c.Capacity())
			want = algorithm.Verdict{Allowed: wait == 0, RetryAfter: wait}
		}
		if got != want {
			t.Fatalf("%+v: %d at %d, %v: got %+v, want %+v", c, cost, now, guests, got, want)
		}
		n := int64(len(guests))
		after, r, come := s, receipt{}, int64(0)
		switch verb := d.Int64N(5); {
		case verb == 0 && n > 0: // a guest leaves
			i := int(d.Int64N(n))
			guests = slices.Delete(guests, i, i+1)
		case verb == 1 && n > 0: // a guest stays
			guests[d.Int64N(n)].stays(t, c, now)
		case verb == 2:
			after, r = c.Force(s, m, cost)
			come = max(0, min(cost, c.Capacity()-guests.live(now)))
		case got.Allowed:
			after, r = c.Charge(s, m, cost)
			come = cost
		}
		if come > 0 || r != (receipt{}) {
			guests = append(guests, slices.Repeat(house{{until: int64(now + c.Lease())}}, int(come))...)
			if again := guests.list().tally(c, now); after != again || r != (receipt{At: now + c.Lease(), Cost: come}) {
				t.Fatalf("%+v: %d at %d: got %v, %+v, want %v and %d guests more", c, cost, now, after, r, again, come)
			}
		}
		checkHouse(t, c, guests, now)
	}
}

// stays renews the time of a guest, which becomes no shorter.
func (g *guest) stays(t rapid.TB, c *algorithm.Concurrency, now micros) {
	t.Helper()
	want := max(g.until, int64(now+c.Lease()))
	if got := int64(c.Renewed(now, micros(g.until))); got != want {
		t.Fatalf("%+v: a lease to %d, renewed at %d, ends at %d, want %d", c, g.until, now, got, want)
	}
	g.until = want
}

// checkHouse holds what is left, and until when, against the guests.
func checkHouse(t rapid.TB, c *algorithm.Concurrency, guests house, now micros) {
	t.Helper()
	list := guests.list()
	s := list.tally(c, now)
	left, reset := c.Level(s, list.moment(now))
	longest := micros(0)
	for _, g := range guests {
		longest = max(longest, micros(g.until)-now)
	}
	if want := max(0, c.Capacity()-guests.live(now)); left != want || reset != longest || c.Dead(s, now) != (longest == 0) {
		t.Fatalf("%+v at %d, %v: %d left, reset %d, dead %t; want %d, %d", c, now, guests, left, reset, c.Dead(s, now), want, longest)
	}
}

// Nobody is made a holder beyond the limit, not by force either, and no receipt gives
// a place back.
func TestConcurrencyIsNotForced(t *testing.T) {
	c := slotsOf(t, 3, 1000)
	s, r := c.Force(state{}, at(5000), 2)
	if want := (state{6000, 2}); s != want || r.Cost != 2 {
		t.Errorf("%v, %+v", s, r)
	}
	s, r = c.Force(s, at(5500), 9)
	if want := (state{6500, 3}); s != want || r.Cost != 1 {
		t.Errorf("%v, %+v", s, r)
	}
	if again, r := c.Force(s, at(5500), 9); again != s || r != (receipt{}) {
		t.Errorf("%v, %+v", again, r)
	}
	if got := c.Refund(s, at(5500), receipt{At: 6500, Cost: 1}, 1); got != s {
		t.Errorf("%v", got)
	}
	if got := c.Touch(s, at(5500)); got != s {
		t.Errorf("%v", got)
	}
	if v := c.Judge(s, at(5500), 1); v != (algorithm.Verdict{RetryAfter: 1000}) {
		t.Errorf("without a list: %+v", v)
	}
}

// Leases that have ended hold nobody back, whether a store has dropped them or not: a
// lease that ends now has ended.
func TestEndedLeasesHoldNobodyBack(t *testing.T) {
	c := slotsOf(t, 3, 1000)
	s := state{6000, 3} // of a list that nobody has looked at since
	f := func(now micros, left int64, reset, wait micros) {
		t.Helper()
		gotLeft, gotReset := c.Level(s, at(now))
		v := c.Judge(s, at(now), 3)
		if gotLeft != left || gotReset != reset || v != (algorithm.Verdict{Allowed: wait == 0, RetryAfter: wait}) || c.Dead(s, now) != (wait == 0) {
			t.Errorf("at %d: %d left, reset %d, %+v, dead %t", now, gotLeft, gotReset, v, c.Dead(s, now))
		}
	}
	f(5999, 0, 1, 1)
	f(6000, 3, 0, 0)
	f(6001, 3, 0, 0)
	if after, _ := c.Charge(s, at(6000), 1); after != (state{7000, 1}) {
		t.Errorf("beside three whose leases have ended one makes %v", after)
	}
	if !c.Dead(state{}, 1) {
		t.Error("a limit that nobody has asked has holders")
	}
}

func TestNoHoldersAreDeadAtOnce(t *testing.T) {
	c := slotsOf(t, 5, 1000)
	if !c.Dead(state{200, 0}, 150) || c.Dead(state{200, 1}, 150) || !c.Dead(state{200, 1}, 200) {
		t.Error("a state without holders is not dead, or one with holders is")
	}
}

// Holders beyond a smaller limit finish: force makes nobody of them go, and none come.
func TestForceUnderASmallerLimitOfSlots(t *testing.T) {
	c := slotsOf(t, 2, 1000)
	for _, cost := range []int64{0, 1, 5} {
		s := state{6000, 4}
		if got, r := c.Force(s, at(5500), cost); got != s || r != (receipt{}) {
			t.Errorf("%d by force: %v, %+v", cost, got, r)
		}
	}
}

func TestConcurrencyArguments(t *testing.T) {
	f := func(limit int64, lease micros, want string) {
		t.Helper()
		c, err := algorithm.NewConcurrency(limit, lease)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
			t.Errorf("got  %v\nwant %s", err, want)
		case want == "":
			one, full := c.Pins()
			if c.Capacity() != limit || c.Overdraft() != limit || c.Entries() != int(limit) || c.Lease() != lease || one != lease || full != lease || c.Most(0) != 0 || c.Most(1) != math.MaxInt64 {
				t.Errorf("%d, %d: %+v", limit, lease, c)
			}
		}
	}
	const (
		none = `weir: count 0: a limit admits at least 1; write "deny" to refuse everything, "unlimited" to limit nothing`
		many = "weir: count 4096: a concurrent limit remembers each holder, and has room for 4095; write at most 4095"
	)
	f(1, 1000, "")
	f(4095, 1<<52-1, "")
	f(0, 1000, none)
	f(4096, 1000, many)
	f(5, 999, "weir: lease 999: it lasts at least 1ms; write a longer one, such as 1m")
	f(5, 0, "weir: lease 0: it lasts at least 1ms; write a longer one, such as 1m")
	f(5, 1<<52, "weir: lease 4503599627370496: it lasts at most 142 years; write a shorter one, such as 1m")
}
