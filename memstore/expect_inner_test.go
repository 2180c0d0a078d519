package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// turned makes a store whose clock is a number.
func turned(t *testing.T, c Config) (s *Store, now *weir.Micros) {
	t.Helper()
	now = new(weir.Micros)
	*now = 1_000_000_000
	c.Now = func() weir.Micros { return *now }
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, now
}

func takeOf(s *Store, l *weir.Limit, name string) weir.Take {
	key, tag := s.Keyer().Key(weir.Text("user", name))
	return weir.Take{Limit: l, Key: key, Tag: tag, Cost: 1}
}

// TestExpectCountsEachOnce: a limit with a block needs the cells of two, however often it
// is named.
func TestExpectCountsEachOnce(t *testing.T) {
	s, _ := turned(t, Config{MaxKeys: 64}) // cells for eight
	var limits []*weir.Limit
	for i := range 4 {
		limits = append(limits, weir.MustLimit(fmt.Sprint("rule", i), "5/h block 1h"))
	}
	if err := s.Expect(append(limits, append(limits, nil, weir.MustLimit("free", "unlimited"))...)...); err != nil {
		t.Fatalf("four with a block, each twice: %v", err)
	}
	err := s.Expect(weir.MustLimit("more", "5/h"))
	if !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("one more: %v", err)
	}
	if n := len(*s.members.Load()); n != 8 {
		t.Errorf("%d are known, want 8", n)
	}
}

// TestBlockWithoutACell: where there are cells for a limit and none for its penalty, nothing
// is decided without it.
func TestBlockWithoutACell(t *testing.T) {
	s, _ := turned(t, Config{MaxKeys: 64})
	if err := s.Expect(weir.MustLimit("a", "5/h block 1h"), weir.MustLimit("log", "5/s sliding-log")); err != nil { // which has the room of five
		t.Fatal(err)
	}
	take, out := []weir.Take{takeOf(s, weir.MustLimit("b", "5/h block 1h"), "u")}, make([]weir.Decision, 1)
	for range 2 {
		if ok, _, err := s.Take(context.Background(), take, out); ok || !errors.Is(err, weir.ErrNotApplied) {
			t.Errorf("allowed %t, %v", ok, err)
		}
	}
	if n := len(*s.members.Load()); n != 4 {
		t.Fatalf("%d limits are known: this test says nothing", n)
	}
}

// TestCrampedAndShares: both are of the rules that are promised something, and take the
// store's lock for as long as they look.
func TestCrampedAndShares(t *testing.T) {
	s, _ := turned(t, Config{MaxKeys: 20_000})
	limits := []*weir.Limit{weir.MustLimit("small", "5/s"), weir.MustLimit("tiny", "5/s")}
	want := map[string]int{"small": 48, "tiny": 576} // 3 and 36 in each of 16 parts
	for i := range 7 {
		name := fmt.Sprint("large", 6-i)
		limits = append(limits, weir.MustLimit(name, "1000/min sliding-log"))
		want[name] = 576
	}
	want["large6"] = 289 * 16 // there is room for whole keys of one of them
	if err := s.ExpectOnly(map[string]int{"small": 33}, limits...); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := s.Cramped(); !slices.Equal(got, []string{"large0", "large1", "large2", "large3", "large4", "large5"}) {
			t.Errorf("cramped are %v", got)
		}
		if got := s.Shares(); !maps.Equal(got, want) {
			t.Errorf("shares are %v, want %v", got, want)
		}
	}
	if _, _, err := s.Take(t.Context(), []weir.Take{takeOf(s, weir.MustLimit("e", "5/s"), "u")}, make([]weir.Decision, 1)); err != nil {
		t.Error(err)
	}
	if got := s.Shares(); !maps.Equal(got, want) {
		t.Errorf("with a limit that nobody has expected the shares are %v", got)
	}
}

// TestSharesOfNothing: a store that knows no limit has the shares that it was promised.
func TestSharesOfNothing(t *testing.T) {
	s, _ := turned(t, Config{})
	if got := s.Shares(); len(got) != 0 || s.Cramped() != nil {
		t.Errorf("shares are %v", got)
	}
	s, _ = turned(t, Config{MaxKeys: 64, Reserved: map[string]int{"a": 10}})
	if got, want := s.Shares(), map[string]int{"a": 10}; !maps.Equal(got, want) || s.Cramped() != nil {
		t.Errorf("shares are %v, want %v", got, want)
	}
}

// TestPromisesBecomeWholeKeys of what is left, or of half of it where others have a share.
func TestPromisesBecomeWholeKeys(t *testing.T) {
	a, b := weir.MustLimit("a", "100/min sliding-log"), weir.MustLimit("b", "1780/min sliding-log") // 33 and 513 for a key
	plain, other := weir.MustLimit("plain", "5/s"), weir.MustLimit("other", "5/s")
	f := func(reserved map[string]int, want map[string]int, limits ...*weir.Limit) {
		t.Helper()
		s, _ := turned(t, Config{MaxKeys: 20_000}) // 16 parts, of each of which 546 are kept for rules
		if err := s.ExpectOnly(reserved, limits...); err != nil {
			t.Fatal(err)
		}
		got := s.Shares()
		for name := range got {
			got[name] /= 16
		}
		if !maps.Equal(got, want) {
			t.Errorf("of %v: shares of a part are %v, want %v", reserved, got, want)
		}
	}
	f(map[string]int{"b": 16}, map[string]int{"b": 513}, b)
	f(map[string]int{"b": 16}, map[string]int{"b": 1, "plain": 545}, b, plain)
	f(map[string]int{"b": 16}, map[string]int{"b": 1, "plain": 272, "other": 272}, b, plain, other)
	f(map[string]int{"a": 16}, map[string]int{"a": 33, "plain": 513}, a, plain)
	f(map[string]int{"a": 16, "b": 16}, map[string]int{"a": 33, "b": 513}, a, b) // just what there is
	f(map[string]int{"a": 32, "b": 16}, map[string]int{"a": 33, "b": 513}, a, b)
	f(map[string]int{"a": 34 * 16, "b": 16}, map[string]int{"a": 34, "b": 1}, a, b)
	f(map[string]int{"a": 32 * 16}, map[string]int{"a": 33, "plain": 513}, a, plain)
	f(map[string]int{"nobody": 1}, map[string]int{"nobody": 1, "plain": 545}, plain)
}

// TestFirstKeyOfAShare: a rule that has nothing yet in a part of the store finds its room
// there when others have taken all of theirs.
func TestFirstKeyOfAShare(t *testing.T) {
	s, _ := turned(t, Config{MaxKeys: 64})
	flood, few, late := weir.MustLimit("flood", "1/day"), weir.MustLimit("few", "1/day"), weir.MustLimit("late", "1/day")
	if err := s.ExpectOnly(map[string]int{"late": 1, "few": 10}, flood, few, late); err != nil {
		t.Fatal(err)
	}
	out := make([]weir.Decision, 1)
	take := func(l *weir.Limit, name string) weir.Mode {
		if _, _, err := s.Take(context.Background(), []weir.Take{takeOf(s, l, name)}, out); err != nil {
			t.Fatal(err)
		}
		return out[0].Mode
	}
	for i := range 200 {
		take(flood, fmt.Sprint(i))
	}
	for i := range 20 { // of whom nobody beyond the share of the rule takes another's place
		if got := take(few, fmt.Sprint(i)); (got == weir.Exact) != (i < 10) {
			t.Errorf("key %d: decided as %s", i, got)
		}
	}
	if first, second := take(late, "a"), take(late, "b"); first != weir.Exact || second != weir.Overflow {
		t.Errorf("decided as %s, and as %s", first, second)
	}
}

// TestWhatIsKeptIsSwept when the flood that it was kept for is over: then it is room like
// any other.
func TestWhatIsKeptIsSwept(t *testing.T) {
	exact := func(reset bool) (n int) {
		s, now := turned(t, Config{MaxKeys: 64})
		l, out := weir.MustLimit("login", "5/s"), make([]weir.Decision, 1)
		flood := func(prefix string) (n int) {
			for i := range 300 {
				if _, _, err := s.Take(context.Background(), []weir.Take{takeOf(s, l, prefix+fmt.Sprint(i))}, out); err != nil {
					t.Fatal(err)
				}
				if out[0].Mode == weir.Exact {
					n++
				}
			}
			return n
		}
		flood("first")
		if reset {
			for i := range 20 {
				if err := s.Reset(context.Background(), l, takeOf(s, l, "first"+fmt.Sprint(i)).Key); err != nil {
					t.Fatal(err)
				}
			}
			found := 0
			s.shards[0].entries.Each(func(e *table.Slot) {
				if isKept(e) {
					found++
				}
			})
			if found != 20 {
				t.Fatalf("%d are kept: this test says nothing", found)
			}
		}
		*now += 86_400_000_000
		return flood("second")
	}
	if with, without := exact(true), exact(false); with != without || with == 0 {
		t.Errorf("%d keys find room where some were kept, %d elsewhere", with, without)
	}
}

// TestHeirsOfRatesHoldNoSlots: what a renamed rule's entries keep is not taken for slots.
func TestHeirsOfRatesHoldNoSlots(t *testing.T) {
	s, _ := turned(t, Config{})
	out := make([]weir.Decision, 1)
	for i := range 20 {
		if _, _, err := s.Take(context.Background(), []weir.Take{takeOf(s, weir.MustLimit("old", "7/h"), fmt.Sprint(i))}, out); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := weir.ParseSpec("7/h")
	if err != nil {
		t.Fatal(err)
	}
	heir, err := weir.NewLimitKeeping("new", "old", spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ExpectOnly(nil, heir); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.rules {
		if r != nil && r.slots.Load() != 0 {
			t.Errorf("rule %s holds %d slots", r.name, r.slots.Load())
		}
	}
	if n := s.ruleNamed("new").entries.Load(); n != 20 {
		t.Fatalf("%d entries moved: this test says nothing", n)
	}
}

// TestExpectUnderABrokenClock sweeps nothing: by a clock that is out of its range all
// would be over.
func TestExpectUnderABrokenClock(t *testing.T) {
	s, now := turned(t, Config{MaxKeys: 64})
	var limits []*weir.Limit
	for i := range 8 {
		limits = append(limits, weir.MustLimit(fmt.Sprint("rule", i), "1/day"))
	}
	if err := s.Expect(limits...); err != nil {
		t.Fatal(err)
	}
	take := []weir.Take{takeOf(s, limits[0], "u")}
	out := make([]weir.Decision, 1)
	if ok, _, err := s.Take(context.Background(), take, out); !ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	right := *now
	*now = algorithm.MaxMicros
	if err := s.Expect(weir.MustLimit("rule7", "2/day")); err != nil { // has to forget the one of a day
		t.Fatal(err)
	}
	*now = right
	if ok, _, err := s.Take(context.Background(), take, out); ok || err != nil {
		t.Errorf("the state was swept: %t, %v", ok, err)
	}
}

// TestTimeNeverRunsBackForAState: who was judged by a reading is not judged by an earlier
// one, whichever way his takes go.
func TestTimeNeverRunsBackForAState(t *testing.T) {
	s, now := turned(t, Config{})
	bucket, log := weir.MustLimit("a", "5/s"), weir.MustLimit("b", "5/s sliding-log")
	out := make([]weir.Decision, 2)
	for name, takes := range map[string][]weir.Take{
		"new key":    {takeOf(s, bucket, "u")},
		"new list":   {takeOf(s, log, "u")},
		"new couple": {takeOf(s, bucket, "v"), takeOf(s, bucket, "w")},
	} {
		*now += 1_000_000
		high := *now
		if _, _, err := s.Take(context.Background(), takes, out[:len(takes)]); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			*now -= 700_000
			_, stamp, err := s.Take(context.Background(), takes[:1], out[:1])
			if err != nil || stamp.Now < high {
				t.Errorf("%s: judged at %d, before at %d; %v", name, stamp.Now, high, err)
			}
		}
		*now = high
	}
}

// TestNewKeyReadsTheClockTwice: the second reading, behind the look at the cells, is the one
// that counts, whatever it is.
func TestNewKeyReadsTheClockTwice(t *testing.T) {
	var readings []weir.Micros
	s, err := New(Config{Now: func() weir.Micros {
		now := readings[0]
		readings = readings[1:]
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	take, out := []weir.Take{takeOf(s, weir.MustLimit("a", "5/s"), "u")}, make([]weir.Decision, 1)
	readings = []weir.Micros{500, 500, 500} // the limit becomes known
	if _, _, err := s.Take(context.Background(), []weir.Take{takeOf(s, take[0].Limit, "nobody")}, out); err != nil {
		t.Fatal(err)
	}
	readings = []weir.Micros{1000, algorithm.MaxMicros, algorithm.MaxMicros}
	if ok, _, err := s.Take(context.Background(), take, out); ok || !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("by a clock that breaks in between: allowed %t, %v", ok, err)
	}
	readings = []weir.Micros{1000, 2000}
	if ok, stamp, err := s.Take(context.Background(), take, out); !ok || stamp.Now != 2000 || err != nil {
		t.Errorf("allowed %t at %d, %v", ok, stamp.Now, err)
	}
	readings = []weir.Micros{1500}
	if ok, stamp, err := s.Take(context.Background(), take, out); !ok || stamp.Now != 2000 || err != nil {
		t.Errorf("by a clock that ran back: allowed %t at %d, %v", ok, stamp.Now, err)
	}
}

// TestLocksAreTakenInOrder: those of shards and of cells, in whatever order they are met.
func TestLocksAreTakenInOrder(t *testing.T) {
	s, _ := turned(t, Config{})
	c, _ := s.calls.Get().(*call)
	c.reset()
	for _, i := range []int{9, 3, 9, 14, 3, 0} {
		c.addShard(i)
		c.addStripe(i + 2*cellStripes)
	}
	c.addStripe(-1)
	c.lockShards()
	c.lockStripes()
	want := []int{0, 3, 9, 14}
	if !slices.Equal(c.shards[:c.shardCount], want) || !slices.Equal(c.stripes[:c.stripeCnt], want) {
		t.Errorf("locked %v and %v, want %v", c.shards[:c.shardCount], c.stripes[:c.stripeCnt], want)
	}
	c.unlock()
	s.calls.Put(c)
	s.lockAll()
	s.unlockAll() // none is held any more
}

// TestOwnClock: without one that is given the store reads the machine's.
func TestOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		take, out := []weir.Take{takeOf(s, weir.MustLimit("a", "2/s"), "u")}, make([]weir.Decision, 1)
		for _, want := range []bool{true, true, false} {
			ok, stamp, err := s.Take(context.Background(), take, out)
			if ok != want || err != nil || stamp.Now != weir.Micros(time.Now().UnixMicro()) {
				t.Errorf("allowed %t at %d, %v", ok, stamp.Now, err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		if ok, stamp, err := s.Take(context.Background(), take, out); !ok || err != nil || stamp.Now != weir.Micros(time.Now().UnixMicro()) {
			t.Errorf("half a second on: allowed %t at %d, %v", ok, stamp.Now, err)
		}
	})
}

// TestWideBucketIsStepped: a bucket's state that stands beside the table, for it was written
// under numbers that its version has not, is judged in its own.
func TestWideBucketIsStepped(t *testing.T) {
	s, now := turned(t, Config{})
	l, slow := weir.MustLimit("a", "5/s"), weir.MustLimit("a", "1/h burst 5")
	take, out := takeOf(s, l, "u"), make([]weir.Decision, 1)
	m, err := s.known(l)
	if err != nil {
		t.Fatal(err)
	}
	owed, _ := slow.Algorithm().Charge(algorithm.State{}, algorithm.Moment{Now: *now}, 5)
	fp := fingerprint(l.ID(), &take.Key)
	sh := &s.shards[s.shardOf(fp)]
	sh.count(m.rule, 1)
	sh.insert(fp, m, owed)
	if e := sh.entries.Find(fp); !isWide(e) || sh.state(e, m) != owed {
		t.Fatal("the state is not beside the table: this test says nothing")
	}
	// Five units are owed, as units, which flow back at five a second from the first touch.
	for _, c := range []struct {
		later weir.Micros
		want  bool
	}{{0, false}, {200_000, true}, {0, false}, {199_999, false}, {1, true}} {
		*now += c.later
		if ok, _, err := s.Take(context.Background(), []weir.Take{take}, out); ok != c.want || err != nil || out[0].Remaining != 0 {
			t.Errorf("at %d: allowed %t, %+v, %v", *now, ok, out[0], err)
		}
	}
}
