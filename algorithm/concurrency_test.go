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
type guest struct{ id, until int64 }

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
		var guests house
		now := micros(5000)
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = max(1, now+micros(rapid.SampledFrom([]int64{0, 1, 3, 300, 999, 1005, -1, -200}).Draw(t, "step")))
			c := limits[rapid.IntRange(0, len(limits)-1).Draw(t, "limit")]
			list := guests.list()
			m, s := list.moment(now), list.tally(c, now)
			cost := rapid.Int64Range(0, c.Capacity()+1).Draw(t, "cost")
			got, want := c.Judge(s, m, cost), algorithm.Verdict{Never: true}
			if cost <= c.Capacity() {
				wait := guests.wait(now, cost, c.Capacity())
				want = algorithm.Verdict{Allowed: wait == 0, RetryAfter: wait}
			}
			if got != want {
				t.Fatalf("%+v: %d at %d, %v: got %+v, want %+v", c, cost, now, guests, got, want)
			}
			switch verb := rapid.IntRange(0, 3).Draw(t, "verb"); {
			case verb == 0 && len(guests) > 0: // a guest leaves
				i := rapid.IntRange(0, len(guests)-1).Draw(t, "guest")
				guests = slices.Delete(guests, i, i+1)
			case verb == 1 && len(guests) > 0: // a guest stays
				g := &guests[rapid.IntRange(0, len(guests)-1).Draw(t, "guest")]
				before := g.until
				if g.until = int64(c.Renewed(now, micros(before))); g.until < before || g.until < int64(now+c.Lease()) {
					t.Fatalf("%+v: a lease to %d, renewed at %d, ends at %d", c, before, now, g.until)
				}
			case got.Allowed && cost > 0:
				after, r := c.Charge(s, m, cost)
				for i := range cost {
					guests = append(guests, guest{int64(step)*10 + i, int64(now + c.Lease())})
				}
				if again := guests.list().tally(c, now); after != again || r != (receipt{At: now + c.Lease(), Cost: cost}) {
					t.Fatalf("%+v: %d at %d: got %v, %+v, want %v", c, cost, now, after, r, again)
				}
			}
			checkHouse(t, c, guests, now)
		}
	})
}

// checkHouse holds what is left, and until when, against the guests.
func checkHouse(t *rapid.T, c *algorithm.Concurrency, guests house, now micros) {
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
