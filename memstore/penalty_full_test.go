package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// call asks about several takes of named callers at once.
func (p *penalized) call(takes ...weir.Take) (bool, []weir.Decision) {
	p.t.Helper()
	out := make([]weir.Decision, len(takes))
	allowed, _, err := p.Take(context.Background(), takes, out)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := (&crowd{Store: p.Store}).sound(); err != nil {
		p.t.Error(err)
	}
	return allowed, out
}

// of makes a take of a named caller.
func (p *penalized) of(l *weir.Limit, key string, cost int64) weir.Take {
	k, tag := p.Keyer().Key(weir.Text("user", key))
	return weir.Take{Limit: l, Key: k, Tag: tag, Cost: cost}
}

// fill leaves no room for a key more.
func (p *penalized) fill() {
	p.t.Helper()
	flood := weir.MustLimit("flood", "1/day")
	for i := range 200 {
		p.ask(flood, fmt.Sprint(i))
	}
}

// In a full store who has no entry is decided as the store is told, and blocked by
// nothing: not for what strangers have used, and not for a lack of room. Who was blocked
// before is blocked, whatever becomes of strangers.
func TestBlocksInAFullStore(t *testing.T) {
	f := func(onFull OnFull, mode weir.Mode, passes int) {
		t.Helper()
		s, l := penalize(t, Config{MaxKeys: 64, OnFull: onFull}), weir.MustLimit("login", "2/h block 1d")
		for range 3 {
			s.ask(l, "early")
		}
		s.fill()
		for i := range 100 { // those who have an entry within the share of the rule
			s.ask(l, fmt.Sprint(i))
		}
		passed := 0
		for range 5 {
			d := s.ask(l, "late")
			if d.Mode != mode || d.Blocked || d.RetryAfter > 3_600_000_000 {
				t.Errorf("on full %d: who comes late: %+v, want mode %s and no block", onFull, d, mode)
			}
			if d.Allowed {
				passed++
			}
		}
		if passed != passes {
			t.Errorf("on full %d: %d of 5 pass, want %d", onFull, passed, passes)
		}
		if d := s.ask(l, "early"); !d.Blocked || d.Mode != weir.Exact || d.RetryAfter != 86_400_000_000 {
			t.Errorf("on full %d: who was blocked before: %+v", onFull, d)
		}
	}
	f(Overflow, weir.Overflow, 0)
	f(Refuse, weir.Closed, 0)
	f(Admit, weir.Open, 5)
}

// A key that has an entry, and no room for its penalty beside it, is refused by the
// plain limit alone.
func TestNoRoomForAPenalty(t *testing.T) {
	s, l := penalize(t, Config{MaxKeys: 64}), weir.MustLimit("login", "2/h block 1d")
	s.ask(l, "k")
	s.fill()
	for i := range 100 {
		s.ask(l, fmt.Sprint(i))
	}
	if d := s.ask(l, "k"); !d.Allowed || d.Mode != weir.Exact {
		t.Fatalf("who has an entry: %+v", d)
	}
	for range 2 {
		if d := s.ask(l, "k"); d.Allowed || d.Blocked || d.RetryAfter != 1_800_000_000 || d.Mode != weir.Exact {
			t.Errorf("refused without room for a penalty: %+v", d)
		}
	}
	s.now += 86_400_000_000 // the flood is over, and is swept when room is looked for
	s.ask(l, "k")
	s.ask(l, "k")
	if d := s.ask(l, "k"); !d.Blocked || d.RetryAfter != 86_400_000_000 {
		t.Errorf("refused when there is room again: %+v", d)
	}
}

// A key that cannot be told from strangers is not reset, and neither is its block.
func TestResetThatIsRefusedForgivesNothing(t *testing.T) {
	s, l := penalize(t, Config{MaxKeys: 64}), weir.MustLimit("login", "2/h block 1d")
	for range 3 {
		s.ask(l, "k")
	}
	s.now += 3_600_000_000 // its own state is dead, and its penalty is not
	s.fill()
	for i := range 100 {
		s.ask(l, fmt.Sprint(i))
	}
	k, _ := s.Keyer().Key(weir.Text("user", "k"))
	if err := s.Reset(context.Background(), l, k); !errors.Is(err, weir.ErrNotApplied) {
		t.Fatalf("Reset of a key that may share a cell: %v", err)
	}
	if d := s.ask(l, "k"); !d.Blocked || d.RetryAfter != 82_800_000_000 {
		t.Errorf("after a Reset that was refused: %+v", d)
	}
}

// One state that a call names often is struck once, by limits of one name as well.
func TestOneStrikeForOneCall(t *testing.T) {
	s, l := penalize(t, Config{}), weir.MustLimit("login", "3/h block 10s x 2 max 1h")
	window := weir.MustLimit("login", "1/h fixed-window block 1h")
	takes := []weir.Take{s.of(l, "k", 2), s.of(l, "k", 1), s.of(l, "k", 1), s.of(window, "k", 1), s.of(window, "k", 1)}
	for i, join := range []weir.Join{weir.All, weir.All, weir.Advise, weir.Alone, weir.Alone} {
		takes[i].Join = join
	}
	allowed, out := s.call(takes...)
	if !allowed || !out[0].Allowed || !out[1].Allowed {
		t.Fatalf("three of three: %t, %+v", allowed, out)
	}
	for i := 2; i < 5; i++ {
		if d := out[i]; !d.Blocked || d.RetryAfter < 10_000_000 || d.Remaining != 0 {
			t.Errorf("take %d: %+v, want it blocked", i, d)
		}
	}
	if d := s.ask(window, "k"); d.RetryAfter != 10_000_000 { // its own hour has not been touched
		t.Errorf("the other limit of that name: %+v, want the one block of 10 s", d)
	}
	s.now += 10_000_000
	if d := s.ask(window, "k"); !d.Allowed {
		t.Errorf("after it: %+v", d)
	}
}

// Beside a block settlements are charged, what is charged always is, what is given back
// comes back, and looks say that it runs.
func TestWhatABlockLeavesAlone(t *testing.T) {
	s, l := penalize(t, Config{}), weir.MustLimit("login", "4/h burst 4 overdraft 20 block 2h")
	_, paid := s.call(s.of(l, "k", 4))
	s.ask(l, "k")
	force, always, peek := s.of(l, "k", 2), s.of(l, "k", 3), s.of(l, "k", 0)
	force.How, always.How, peek.How = weir.Force, weir.Always, weir.Peek
	if allowed, out := s.call(force); !allowed || out[0].Granted != 2 || out[0].Blocked || out[0].Remaining != 0 {
		t.Errorf("a settlement: %t, %+v", allowed, out)
	}
	if allowed, out := s.call(always); allowed || out[0].Receipt.Cost != 3 || !out[0].Blocked || out[0].RetryAfter != 7_200_000_000 {
		t.Errorf("charged always: %t, %+v", allowed, out)
	}
	if allowed, out := s.call(peek); allowed || !out[0].Blocked || out[0].ResetAfter != 9*900_000_000 {
		t.Errorf("a look at nothing: %t, %+v", allowed, out)
	}
	k, _ := s.Keyer().Key(weir.Text("user", "k"))
	if _, err := s.Return(context.Background(), []weir.Return{{Limit: l, Key: k, Receipt: paid[0].Receipt, Units: 4}}); err != nil {
		t.Fatal(err)
	}
	if d := s.ask(l, "k"); !d.Blocked || d.RetryAfter != 7_200_000_000 || d.ResetAfter != 7_200_000_000 {
		t.Errorf("what came back frees nobody: %+v", d)
	}
	s.now += 7_200_000_000
	partial := s.of(l, "k", 9)
	partial.How = weir.Partial
	if _, out := s.call(partial); !out[0].Allowed || out[0].Granted != 4 {
		t.Errorf("after the block, with five units back by then: %+v", out)
	}
	if _, out := s.call(partial); !out[0].Blocked {
		t.Errorf("a partial take of nothing: %+v", out)
	}
}

// A clock that leaps ends what it leaps over, one that runs back frees nobody and keeps
// nobody longer than it takes to catch up, and the last instants that there are have
// room for the longest block.
func TestBlocksUnderOddClocks(t *testing.T) {
	const hour, last = 3_600_000_000, 1<<52 - 1
	s, l := penalize(t, Config{}), weir.MustLimit("login", "1/s block 1h x 2 max 26000d")
	s.ask(l, "k")
	began := s.now
	s.ask(l, "k")
	for _, back := range []weir.Micros{1, 1_000_000, 100 * hour} {
		s.now = began - back
		if d := s.ask(l, "k"); !d.Blocked || d.RetryAfter != hour {
			t.Errorf("%d back: %+v", back, d)
		}
	}
	s.now = began + 10*hour
	if !s.ask(l, "k").Allowed || s.ask(l, "k").RetryAfter != hour {
		t.Error("a leap beyond all that is remembered begins anew")
	}
	s.now = last - 1
	s.ask(l, "k")
	longest := weir.MustLimit("login", "1/s block 26000d")
	d := s.ask(longest, "k")
	if s.now = last; d.RetryAfter != 26_000*24*hour || !s.ask(longest, "k").Blocked {
		t.Errorf("at the end of time: %+v", d)
	}
}

// A block that a reload takes away holds nobody; what it remembers is there when it
// comes back. Growth and limits of other kinds under the name keep it.
func TestBlocksThatAreTakenAway(t *testing.T) {
	const minute = 60_000_000
	s := penalize(t, Config{})
	load := func(text string) *weir.Limit {
		t.Helper()
		l := weir.MustLimit("login", text)
		if err := s.ExpectOnly(nil, l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, text := range []string{"1/s block 10m", "1/s burst 1 block 2m x 3 max 1h", "1/s fixed-window block 2m x 3 max 1h", "9/s sliding-log block 1m", "1/s leaky-bucket queue 1 block 1m"} {
		l := load(text)
		for i := 0; !s.ask(l, "k").Blocked; i++ {
			if i > 20 {
				t.Fatalf("%s: nobody is blocked", text)
			}
		}
	}
	if d := s.ask(load("1/s"), "k"); d.Blocked || d.RetryAfter > 1_000_000 {
		t.Errorf("without a block: %+v", d)
	}
	s.now += 9 * minute
	if d := s.ask(load("1/s"), "k"); !d.Allowed {
		t.Errorf("without a block: %+v", d)
	}
	if d := s.ask(load("1/s block 1s"), "k"); !d.Blocked || d.RetryAfter != minute {
		t.Errorf("when it is back: %+v, want what is left of the first", d)
	}
	s.now += minute
	if l := load("1/s block 1s x 2 max 1h"); !s.ask(l, "k").Allowed || s.ask(l, "k").RetryAfter != 20*minute {
		t.Error("the one after it is not twice as long")
	}
}

// Whatever room comes and goes, nobody is blocked who was not refused on a state of his
// own, for longer than it says, or without having been told so; and who was told so gets
// nothing before it is over.
func TestBlocksThroughOverflow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := penalize(t, Config{MaxKeys: 64, OnFull: OnFull(rapid.IntRange(0, 2).Draw(r, "on full"))})
		l := weir.MustLimit("login", rapid.SampledFrom([]string{"2/s block 3s", "2/s fixed-window block 3s", "2/s sliding-log block 3s"}).Draw(r, "limit"))
		other, until := weir.MustLimit("other", "1/s"), map[string]weir.Micros{}
		for range rapid.IntRange(50, 400).Draw(r, "steps") {
			s.now += weir.Micros(rapid.SampledFrom([]int{0, 0, 0, 100, 400_000, 2_999_999, 3_000_000}).Draw(r, "pause"))
			if name := fmt.Sprint(rapid.IntRange(0, 90).Draw(r, "caller")); rapid.Bool().Draw(r, "login") {
				judged(r, s, name, s.ask(l, name), until)
			} else {
				s.ask(other, name)
			}
		}
	})
}

// judged holds a decision against what its caller has been told.
func judged(r *rapid.T, s *penalized, name string, d weir.Decision, until map[string]weir.Micros) {
	switch end := until[name]; {
	case end > s.now && (!d.Blocked || s.now+d.RetryAfter < end):
		r.Fatalf("%s is blocked until %d, and told at %d: %+v", name, end, s.now, d)
	case end > s.now:
	case d.Blocked && (d.Mode != weir.Exact || d.RetryAfter != 3_000_000):
		r.Fatalf("%s is blocked at %d: %+v", name, s.now, d)
	case d.Blocked:
		until[name] = s.now + d.RetryAfter
	case !d.Allowed && d.RetryAfter > 1_000_000:
		r.Fatalf("%s at %d: %+v", name, s.now, d)
	}
}

// Where another limit's key has the place of a penalty, by its fingerprint, there is no
// penalty, and the other state stays as it is.
func TestPenaltyWhosePlaceIsTaken(t *testing.T) {
	s, l, other := penalize(t, Config{}), weir.MustLimit("login", "1/h block 1d"), weir.MustLimit("other", "1/h")
	if err := s.Expect(l, other); err != nil {
		t.Fatal(err)
	}
	k, _ := s.Keyer().Key(weir.Text("user", "k"))
	at := address{l.Penalty().ID(), k}
	fp, m := at.fingerprint(), s.find(other.Version())
	sh := &s.shards[s.shardOf(fp)]
	sh.count(m.rule, m.room)
	taken := algorithm.State{int64(s.now) + 3_600_000_000}
	sh.insert(fp, m, taken)
	s.ask(l, "k")
	if d := s.ask(l, "k"); d.Allowed || d.Blocked || d.RetryAfter != 3_600_000_000 {
		t.Errorf("refused without a place for the penalty: %+v", d)
	}
	if got := sh.state(sh.entries.Find(fp), m); got != taken {
		t.Errorf("the other state is %v, want %v", got, taken)
	}
	// The same among the keys of one call.
	c := &call{store: s.Store, shares: s.shares.Load(), cellCount: 1}
	c.guards[0] = s.find(l.Penalty().Version())
	c.cells[0].place = place{at: address{other.ID(), k}, fp: fp}
	sh.remove(sh.entries.Find(fp), m)
	c.guard(0, &weir.Take{Limit: l, Key: k})
	if left := c.blocked(1); left != 0 {
		t.Errorf("without a block: blocked for %d", left)
	}
	if g := &c.cells[c.guardOf[0]]; !g.place.strange || g.place.shared != -1 || c.reserve(g) {
		t.Errorf("a key of the same call has its place, and it is given one: %+v", g.place)
	}
}
