package memstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// TestSizes has what follows from MaxKeys: an eighth for cells, parts of a thousand keys
// or more, room for a hundred limits before one has several cells.
func TestSizes(t *testing.T) {
	for keys, want := range map[int]sizes{
		64:      {keys: 56, shards: 1, cells: 1, limits: 8},
		1023:    {keys: 896, shards: 1, cells: 1, limits: 127},
		2048:    {keys: 1792, shards: 1, cells: 2, limits: 128},
		2339:    {keys: 2047, shards: 1, cells: 2, limits: 128},
		2340:    {keys: 2048, shards: 2, cells: 2, limits: 128},
		66_560:  {keys: 58_240, shards: 32, cells: 64, limits: 130},
		100_000: {keys: 87_500, shards: 64, cells: 64, limits: 195},
		0:       {keys: 875_000, shards: 64, cells: 64, limits: 1953},
		1 << 30: {keys: 7 << 27, shards: 64, cells: 64, limits: 1 << 17}, // half of the versions that entries can name
	} {
		c := Config{MaxKeys: keys}
		if got := c.sizes(); got != want || c.validate() != nil {
			t.Errorf("%d keys: %+v, %v, want %+v", keys, got, c.validate(), want)
		}
	}
	for _, keys := range []int{-1, 1, 63, 1<<30 + 1} {
		if err := (Config{MaxKeys: keys}).validate(); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%d keys: %v", keys, err)
		}
	}
}

// TestEnoughIsEnough follows what the refusal of a limit of large keys says: with so many
// keys, and with more, there is room for one of its keys.
func TestEnoughIsEnough(t *testing.T) {
	for _, c := range [...]struct{ count, room, enough int }{
		{15, 7, 0}, // the smallest store has eight cells
		{16, 9, 1096},
		{100, 33, 1288},
		{1200, 347, 3800},
		{1780, 513, 75045},
		{3000, 861, 125952},
		{4095, 1173, 171594},
	} {
		l, err := weir.ParseLimit("x", fmt.Sprintf("%d/min sliding-log", c.count))
		if err != nil {
			t.Fatal(err)
		}
		enough := 0
		if refusal, ok := errors.AsType[*RoomError](Config{MaxKeys: 64}.sizes().tooSmallFor(l)); ok {
			enough = refusal.Enough
		}
		if room := roomOf(l); room != c.room || enough != c.enough {
			t.Errorf("%s takes the room of %d, and wants %d keys; want %d and %d", l, room, enough, c.room, c.enough)
		}
		for keys := max(enough, 64); keys < 4*enough; keys += 1 + enough/5000 {
			if err := (Config{MaxKeys: keys}).sizes().tooSmallFor(l); err != nil {
				t.Fatalf("%s in a store of %d: %v", l, keys, err)
			}
		}
	}
}

// TestTooSmallSaysWhatIsMissing: cells, keys that are nobody's share, or those of a part.
func TestTooSmallSaysWhatIsMissing(t *testing.T) {
	for _, c := range [...]struct {
		keys, count int
		want        string
	}{
		{64, 16, "one caller takes 9 of max_keys, and the table has 8 for callers that find no room"},
		{75, 100, "one caller takes 33 of max_keys, and the table has 9 for callers that find no room"},
		{64, 100, "one caller takes 33 of max_keys, and the table has 28 beside what rules may keep"},
		{2340, 4095, "one caller takes 1173 of max_keys, and each of the table's 2 parts has 512 beside what rules may keep"},
		{100_000, 3000, "one caller takes 861 of max_keys, and each of the table's 64 parts has 684 beside what rules may keep"},
	} {
		l, err := weir.ParseLimit("x", fmt.Sprintf("%d/min sliding-log", c.count))
		if err != nil {
			t.Fatal(err)
		}
		refusal, ok := errors.AsType[*RoomError](Config{MaxKeys: c.keys}.sizes().tooSmallFor(l))
		if !ok || refusal.Problem != c.want || refusal.Limit != l || !errors.Is(refusal, weir.ErrInvalid) {
			t.Errorf("%d keys, %s: %+v, want %s", c.keys, l, refusal, c.want)
		}
	}
}

// TestOneLimitMayHaveAllCells: nine are enough for a limit that wants nine.
func TestOneLimitMayHaveAllCells(t *testing.T) {
	l := weir.MustLimit("x", "16/min sliding-log")
	if err := (Config{MaxKeys: 72}).sizes().tooSmallFor(l); err != nil || roomOf(l) != 9 {
		t.Errorf("its keys have the room of %d: %v", roomOf(l), err)
	}
}

// TestReservedIsRefusedOnce has one error for each share that cannot be.
func TestReservedIsRefusedOnce(t *testing.T) {
	f := func(keys int, reserved map[string]int, want ...string) {
		t.Helper()
		err := (Config{MaxKeys: keys, Reserved: reserved}).validate()
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v of %d: got %q, want %q", reserved, keys, got, want)
		}
	}
	const remedy = "out of range; use 1 or more, or leave the rule out for an equal share"
	f(64, map[string]int{"a": 28})
	f(64, map[string]int{"a": 29}, "weir: memstore Reserved 29: more than half of the room is reserved; reserve at most 28 together, or raise MaxKeys")
	f(64, map[string]int{"a": 0, "b": 20}, "weir: memstore Reserved a 0: "+remedy)
	f(64, map[string]int{"a": 1<<30 + 1, "b": 1 << 40}, "weir: memstore Reserved a 1073741825: "+remedy, "weir: memstore Reserved b 1099511627776: "+remedy)
	f(100_000, map[string]int{"a": 1}) // rounded up to one for each part
	f(100_000, map[string]int{"a": 683 * 64})
	f(100_000, map[string]int{"a": 683*64 + 1}, "weir: memstore Reserved 43776: more than half of the room is reserved; reserve at most 43750 together, or raise MaxKeys")
	f(63, map[string]int{"a": 0}, "weir: memstore MaxKeys 63: out of range; use 64 to 1073741824, or 0 for 1000000")
}

// TestPartsHaveAllKeys: what does not divide evenly goes to the first parts.
func TestPartsHaveAllKeys(t *testing.T) {
	for _, keys := range []int{64, 1023, 2348, 4097, 100_003, 1 << 20} {
		s, err := New(Config{MaxKeys: keys})
		if err != nil {
			t.Fatal(err)
		}
		sum, least, most := 0, s.shards[0].cap, s.shards[0].cap
		for i := range s.shards {
			sum, least, most = sum+s.shards[i].cap, min(least, s.shards[i].cap), max(most, s.shards[i].cap)
		}
		if sum != s.sizes.keys || most-least > 1 {
			t.Errorf("%d keys: %d of %d in the parts, from %d to %d in one", keys, sum, s.sizes.keys, least, most)
		}
	}
}

// TestStoresShareNothing that could be known from another: neither keys nor an epoch.
func TestStoresShareNothing(t *testing.T) {
	a, errA := New(Config{MaxKeys: 64})
	b, errB := New(Config{MaxKeys: 64})
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	parts := []weir.Part{weir.Text("user", "a")}
	of := func(s *Store) weir.Key { key, _ := s.Keyer().Key(parts...); return key }
	if first, again, other := of(a), of(a), of(b); first != again || first == other {
		t.Errorf("keys %x and %x of one store, %x of another", first, again, other)
	}
	if a.epoch == b.epoch {
		t.Errorf("two stores of epoch %x", a.epoch)
	}
}

// TestRoomOfWhoHasNothing: a rule that is not counted yet holds nothing of its share.
func TestRoomOfWhoHasNothing(t *testing.T) {
	sh := &shard{cap: 2, used: 1, counts: []int{1}} // the other one's
	of := &shares{keys: []int{1, 1}, total: 2}
	if late := (&rule{index: 1}); !sh.hasRoom(late, 1, of) || sh.hasRoom(late, 2, of) {
		t.Error("who has nothing has another place than the one of its share")
	}
}

// TestAllTogetherReadOneClock: what stops the world judges by the latest reading of any
// part, and is an earlier reading for all of them.
func TestAllTogetherReadOneClock(t *testing.T) {
	s, now := turned(t, Config{MaxKeys: 100_000})
	last := &s.shards[len(s.shards)-1]
	if len(s.shards) < 2 {
		t.Fatal("one part: this test says nothing")
	}
	high := *now + 1_000_000
	last.latest = high
	if got := s.lockAll(); got != high {
		t.Errorf("read %d, where a part has read %d", got, high)
	}
	s.unlockAll()
	if first := s.shards[0].latest; first != high {
		t.Errorf("the first part goes on at %d, judged at %d", first, high)
	}
}

// TestClockStepsAreTold by the store whose clock has met them.
func TestClockStepsAreTold(t *testing.T) {
	s, err := New(Config{MaxKeys: 64})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.steps.Store(3)
	if got := s.Stats().ClockSteps; got != 3 {
		t.Errorf("%d steps of 3", got)
	}
}
