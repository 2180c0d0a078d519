package memstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// twin is a key of another limit, or of the same, with another half and the
// fingerprint of at.
func twin(at address, limit [16]byte, half uint64) address {
	const odd = 0xd6e8feb86659fd93
	fold := func(limit [16]byte, half uint64) uint64 {
		h := (binary.LittleEndian.Uint64(limit[:8]) ^ half) * odd
		return h ^ h>>32
	}
	for other := (address{limit: limit}); ; half++ { // one half in mostShards is in the same shard
		binary.LittleEndian.PutUint64(other.key[8:], half)
		binary.LittleEndian.PutUint64(other.key[:8],
			fold(at.limit, binary.LittleEndian.Uint64(at.key[8:]))^binary.LittleEndian.Uint64(at.key[:8])^fold(limit, half))
		if other.fingerprint() == at.fingerprint() {
			return other
		}
	}
}

// fixed is a store whose clock stands still.
func fixed(t *testing.T, c Config) *Store {
	t.Helper()
	c.Now = func() weir.Micros { return 1_790_000_000_000_000 }
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantTake takes one unit of each address in one call, and holds how it ends.
func wantTake(t *testing.T, s *Store, allowed bool, mode weir.Mode, remaining int64, limits []*weir.Limit, at ...address) {
	t.Helper()
	takes, out := make([]weir.Take, len(at)), make([]weir.Decision, len(at))
	for i := range at {
		takes[i] = weir.Take{Limit: limits[i], Key: at[i].key, Cost: 1}
	}
	got, _, err := s.Take(context.Background(), takes, out)
	last := out[len(out)-1]
	if err != nil || got != allowed || last.Mode != mode || last.Remaining != remaining {
		t.Errorf("%t, %s, %d left, %v; want %t, %s, %d left", got, last.Mode, last.Remaining, err, allowed, mode, remaining)
	}
	if err := (&crowd{Store: s}).sound(); err != nil {
		t.Error(err)
	}
}

// Two keys of one fingerprint under one limit are one caller: limited more. Under
// two limits they are strangers, and the one that comes later shares a cell, because
// the state of another limit says nothing to it.
func TestKeysOfOneFingerprint(t *testing.T) {
	a, b := weir.MustLimit("a", "3/min"), weir.MustLimit("b", "2/h fixed-window")
	first := address{a.ID(), weir.Key{1, 2, 3, 15: 4}}
	same, other := twin(first, a.ID(), 77), twin(first, b.ID(), 99)
	if first.fingerprint() != same.fingerprint() || first.fingerprint() != other.fingerprint() || first == same || first == other {
		t.Fatalf("%#x %#x %#x", first.fingerprint(), same.fingerprint(), other.fingerprint())
	}
	s := fixed(t, Config{})
	wantTake(t, s, true, weir.Exact, 2, []*weir.Limit{a}, first)
	wantTake(t, s, true, weir.Exact, 1, []*weir.Limit{a}, same)
	wantTake(t, s, true, weir.Overflow, 1, []*weir.Limit{b}, other)
	wantTake(t, s, true, weir.Overflow, 0, []*weir.Limit{a, b}, first, other)
	wantTake(t, s, false, weir.Overflow, 0, []*weir.Limit{b}, other)
	wantTake(t, s, false, weir.Exact, 0, []*weir.Limit{a}, same)

	s = fixed(t, Config{}) // the second has the entry, and is limited by it beside the first
	wantTake(t, s, true, weir.Exact, 1, []*weir.Limit{b}, other)
	wantTake(t, s, true, weir.Exact, 0, []*weir.Limit{a, b}, first, other)
	wantTake(t, s, false, weir.Exact, 0, []*weir.Limit{a, b}, first, other)

	s = fixed(t, Config{}) // both new in one call
	wantTake(t, s, true, weir.Overflow, 1, []*weir.Limit{a, b}, first, other)
	wantTake(t, s, true, weir.Overflow, 0, []*weir.Limit{b}, other)
	wantTake(t, s, true, weir.Exact, 1, []*weir.Limit{a}, first)

	if err := s.Reset(context.Background(), b, other.key); err == nil {
		t.Error("a key that shares a cell was reset")
	}
	if got := twin(first, a.ID(), 5); got.fingerprint() != first.fingerprint() {
		t.Error("the twin is none")
	}
}

// A state that does not fit its entry has a block beside the table, for as long as
// it needs it.
func TestWideEntries(t *testing.T) {
	s := fixed(t, Config{})
	l := weir.MustLimit("day", "9000000000/day calendar UTC")
	key := weir.Key{15: 1}
	edges := weir.Edges{1_789_862_400_000_000, 1_789_948_800_000_000, 1_790_035_200_000_000, 1_790_121_600_000_000}
	take := func(cost int64, l *weir.Limit) weir.Decision {
		t.Helper()
		out := make([]weir.Decision, 1)
		if _, _, err := s.Take(context.Background(), []weir.Take{{Limit: l, Key: key, Cost: cost, Edges: &edges}}, out); err != nil {
			t.Fatal(err)
		}
		if err := (&crowd{Store: s}).sound(); err != nil {
			t.Error(err)
		}
		return out[0]
	}
	blocks := func(want int) {
		t.Helper()
		n := 0
		for i := range s.shards {
			n += s.shards[i].wide.Len()
		}
		if n != want {
			t.Errorf("%d blocks, want %d", n, want)
		}
	}
	take(1_000, l)
	blocks(0)
	big := take(8_000_000_000, l)
	blocks(1)
	if big.Remaining != 999_999_000 || take(1, l).Remaining != 999_998_999 {
		t.Errorf("%d left", big.Remaining)
	}
	back := []weir.Return{{Limit: l, Key: key, Receipt: big.Receipt, Units: 8_000_000_000}}
	if _, err := s.Return(context.Background(), back); err != nil {
		t.Fatal(err)
	}
	blocks(0)
	if d := take(1, l); d.Remaining != 8_999_998_998 {
		t.Errorf("%d left", d.Remaining)
	}
	take(8_000_000_000, l)
	blocks(1)
	if err := s.Reset(context.Background(), l, key); err != nil {
		t.Fatal(err)
	}
	blocks(0)
}

// A take that is refused under slower numbers leaves an entry as it stands, under its
// own: a block would be taken by every caller of a plan that was lowered.
func TestRefusalUnderSlowerNumbersNeedsNoBlock(t *testing.T) {
	s := fixed(t, Config{})
	fast, slow := weir.MustLimit("a", "2/s"), weir.MustLimit("a", "1/min")
	at := address{fast.ID(), weir.Key{1}}
	wantTake(t, s, true, weir.Exact, 1, []*weir.Limit{fast}, at)
	wantTake(t, s, false, weir.Exact, 0, []*weir.Limit{slow}, at)
	for i := range s.shards {
		if n := s.shards[i].wide.Len(); n != 0 {
			t.Errorf("%d blocks", n)
		}
	}
}

// Numbers of versions are used again once neither a limit nor an entry has them.
func TestNumbersAreUsedAgain(t *testing.T) {
	s := fixed(t, Config{MaxKeys: 1000})
	key := address{}
	for i := range 3 * s.sizes.limits {
		l := weir.MustLimit(fmt.Sprint("rule", i), "5/s")
		key.limit = l.ID()
		at := key
		wantTake(t, s, true, weir.Exact, 4, []*weir.Limit{l}, at)
		if err := s.Reset(context.Background(), l, at.key); err != nil { // nothing is left of it
			t.Fatal(err)
		}
		s.prune()
	}
	if n := len(*s.numbered.Load()); n > 2 {
		t.Errorf("%d numbers for one limit at a time", n)
	}
	held := weir.MustLimit("held", "5/s")
	wantTake(t, s, true, weir.Exact, 4, []*weir.Limit{held}, address{held.ID(), weir.Key{1}})
	s.prune()
	wantTake(t, s, true, weir.Exact, 4, []*weir.Limit{weir.MustLimit("other", "5/s")}, address{weir.MustLimit("other", "5/s").ID(), weir.Key{1}})
	wantTake(t, s, true, weir.Exact, 3, []*weir.Limit{held}, address{held.ID(), weir.Key{1}})
}

// Every bit of a slot's words is somebody's.
func TestVersionsInSlots(t *testing.T) {
	sh := &shard{}
	for _, n := range []int{0, 1, lowMask, lowMask + 1, mostVersions - 1} {
		e := sh.entries.Insert(uint64(n) + 1)
		a, b := uint64(1)<<algorithm.PackedBits-1, uint64(1)<<algorithm.PackedBits-2
		sh.set(e, &member{number: n}, a, b)
		if version(e) != n || e.Words[0]>>lowBits != a || e.Words[1]>>lowBits != b || isKept(e) {
			t.Errorf("%d: %d, %#x", n, version(e), e.Words)
		}
		e.Words[1] |= kept
		if sh.set(e, &member{number: n}, 0, 0); version(e) != n || !isKept(e) {
			t.Errorf("%d: %d, %#x", n, version(e), e.Words)
		}
	}
}

// An entry without a state has none, whatever its limit makes of words that are zero.
func TestEntriesWithoutAState(t *testing.T) {
	for _, text := range []string{"5/s", "5/s fixed-window", "5/day calendar UTC", "5/s sliding-window", "5/s leaky-bucket queue 3"} {
		l := weir.MustLimit("a", text)
		m := &member{number: 3}
		m.packer, _ = l.Algorithm().(algorithm.Packer)
		sh := &shard{}
		e := sh.entries.Insert(7)
		for name, empty := range map[string]func(){
			"set":     func() { sh.set(e, m, 0, 0) },
			"written": func() { sh.write(e, m, m, algorithm.State{}) },
			"cleared": func() { sh.clear(e, m) },
		} {
			sh.write(e, m, m, algorithm.State{9, 9, 9, 9}) // that no limit packs
			if empty(); sh.state(e, m) != (algorithm.State{}) || sh.wide.Len() != 0 || version(e) != 3 {
				t.Errorf("%s, %s: state %v of version %d, %d blocks", text, name, sh.state(e, m), version(e), sh.wide.Len())
			}
		}
	}
}

// Each bit of a fingerprint is set for half of the callers, so that two of them are one
// as seldom as is said.
func TestFingerprintsAreEven(t *testing.T) {
	s := fixed(t, Config{})
	l := weir.MustLimit("a", "5/s")
	const callers = 10_000
	var set [64]int
	for i := range callers {
		at := address{limit: l.ID()}
		at.key, _ = s.Keyer().Key(weir.Text("user", fmt.Sprint(i)))
		for bit, rest := 0, at.fingerprint(); rest != 0; bit, rest = bit+1, rest>>1 {
			set[bit] += int(rest & 1)
		}
	}
	for bit, n := range set {
		if n < callers*45/100 || n > callers*55/100 {
			t.Errorf("bit %d is set for %d of %d callers", bit, n, callers)
		}
	}
}

// TestFingerprintIsNeverNone: 0 is an empty place.
func TestFingerprintIsNeverNone(t *testing.T) {
	if fingerprint([16]byte{}, &weir.Key{}) == 0 {
		t.Error("a key that is all zeros has no fingerprint")
	}
}
