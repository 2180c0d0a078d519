package table

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// checkAgainst compares a table with a map of what it should hold.
func checkAgainst(t interface{ Fatalf(string, ...any) }, table *Table, want map[uint64]uint64) {
	if table.Len() != len(want) {
		t.Fatalf("%d slots in use, want %d", table.Len(), len(want))
	}
	for fp, word := range want {
		s := table.Find(fp)
		if s == nil {
			t.Fatalf("%#x is lost", fp)
		}
		if s.Print != fp || s.Words != [2]uint64{word, ^word} {
			t.Fatalf("%#x: found %+v", fp, *s)
		}
	}
	seen := 0
	table.Each(func(s *Slot) {
		if _, ok := want[s.Print]; !ok {
			t.Fatalf("%#x should not be there", s.Print)
		}
		seen++
	})
	if seen != len(want) {
		t.Fatalf("Each visits %d slots, want %d", seen, len(want))
	}
}

// TestTableIsAMap does what may be done in any order, with fingerprints that share
// their places or not.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := &Table{}, map[uint64]uint64{}
		// Few high bits make many collide in both places until the table is large.
		mask := rapid.SampledFrom([]uint64{^uint64(0), 0xff, 0xf0000000000000f, 0xfff00000}).Draw(t, "mask")
		fp := func() uint64 { return rapid.Uint64().Draw(t, "print")&mask | 1<<63 }
		n := rapid.IntRange(1, 400).Draw(t, "steps")
		for range n {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				p := fp()
				if r := table.Find(p); r != nil {
					table.Remove(r)
					delete(want, p)
				}
			case 1:
				odd := rapid.Uint64().Draw(t, "drop") & 7
				drop := func(s *Slot) bool { return s.Words[0]&7 == odd }
				expected := 0
				if rapid.Bool().Draw(t, "all") {
					expected = table.Sweep(table.Room(), drop)
					for p, w := range want {
						if w&7 == odd {
							delete(want, p)
							expected--
						}
					}
				} else {
					table.Sweep(1, func(s *Slot) bool {
						if !drop(s) {
							return false
						}
						delete(want, s.Print)
						return true
					})
				}
				if expected != 0 {
					t.Fatalf("swept %d too many", expected)
				}
			default:
				p := fp()
				s := table.Find(p)
				if _, ok := want[p]; ok != (s != nil) {
					t.Fatalf("Find(%#x) = %v, held %t", p, s, ok)
				}
				w := rapid.Uint64().Draw(t, "word")
				if s == nil {
					s = table.Insert(p)
				}
				s.Words = [2]uint64{w, ^w}
				want[p] = w
			}
		}
		checkAgainst(t, table, want)
	})
}

// held copies what a table holds, and where.
func held(table *Table) map[uint64]*Slot {
	at := map[uint64]*Slot{}
	table.Each(func(s *Slot) { at[s.Print] = s })
	return at
}

// printOf draws a fingerprint.
func printOf(random *rand.Rand) uint64 { return max(random.Uint64(), 1) }

// between is a fingerprint of these two places.
func between(table *Table, first, second int) uint64 {
	random := rand.New(rand.NewPCG(uint64(first), uint64(second)))
	for {
		fp := printOf(random)
		if i, j := table.places(fp); i == first && j == second && table.Find(fp) == nil {
			return fp
		}
	}
}

// ladder has four sets. Three are full, of slots whose other place is the next set;
// the last is empty.
func ladder() *Table {
	table := &Table{}
	for range 4 {
		table.grow()
	}
	for i := range 3 {
		for range ways {
			table.set(i).put(between(table, i, i+1))
		}
	}
	return table
}

// TestRoomIsMadeByFewSlots wants one slot moved where that is enough, two else, and
// none where more would be needed.
func TestRoomIsMadeByFewSlots(t *testing.T) {
	f := func(name string, table *Table, do func(*Table) bool, moves int) {
		t.Helper()
		before := held(table)
		ok, moved := do(table), 0
		after := held(table)
		for fp, at := range before {
			if after[fp] != at {
				moved++
			}
		}
		if ok != (moves > 0) || moved != moves {
			t.Errorf("%s: %t by moving %d, want %d moved", name, ok, moved, moves)
		}
	}
	room := func(i, depth int) func(*Table) bool {
		return func(table *Table) bool { return table.makeRoom(i, depth) }
	}
	f("in set 2", ladder(), room(2, 0), 1)
	f("in set 1, moving one", ladder(), room(1, 0), 0)
	f("in set 1, moving two", ladder(), room(1, 1), 2)
	f("in set 0, moving two", ladder(), room(0, 1), 0)
	f("in set 0, moving three", ladder(), room(0, 2), 3)
	stuck := ladder()
	stuck.set(2)[0].Print = between(stuck, 2, 2)
	f("in set 2, whose first slot has no other place", stuck, room(2, 1), 1)

	insert := func(first, second int) func(*Table) bool {
		return func(table *Table) bool { return table.insert(between(table, first, second)) != nil }
	}
	f("into set 2", ladder(), insert(2, 2), 1)
	f("into set 1", ladder(), insert(1, 1), 2)
	f("into set 0", ladder(), insert(0, 0), 0)
	f("into set 0 or 1", ladder(), insert(0, 1), 2)
	f("into set 1 or 0", ladder(), insert(1, 0), 2)
	f("into set 0 or 2", ladder(), insert(0, 2), 1)
	nearer := func() *Table {
		table := ladder()
		table.set(1)[5].Print = between(table, 1, 3)
		for w := range table.set(0) {
			table.set(0)[w].Print = between(table, 0, 0)
		}
		return table
	}
	f("into set 1, of which a later slot may go to set 3", nearer(), insert(1, 1), 1)
	f("into the same, after set 0 that none may leave", nearer(), insert(0, 1), 1)
}

// TestInsertMovesFew counts the slots that stand elsewhere after each insertion.
func TestInsertMovesFew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table, before := &Table{}, map[uint64]*Slot{}
	most := 0
	for range 1500 {
		table.Insert(printOf(random))
		after := held(table)
		moved := 0
		for fp, at := range before {
			if after[fp] != at {
				moved++
			}
		}
		most, before = max(most, moved), after
	}
	if most > 13 || most == 0 {
		t.Errorf("one insertion moved %d slots", most)
	}
}

// TestFullness fills a table of every size up to many: it has the fewest sets of which
// no more than four fifths are used, and nothing goes to the stash of one that is not
// small.
func TestFullness(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	table := &Table{}
	for n := 1; n <= 300_000; n++ {
		table.Insert(printOf(random))
		if len(table.stash) > 0 && n >= 256 {
			t.Fatalf("%d slots are in the stash, of %d", len(table.stash), n)
		}
		if sets := (n*5 + 4*ways - 1) / (4 * ways); table.Room() != sets*ways {
			t.Fatalf("%d slots in a room of %d, want %d", n, table.Room(), sets*ways)
		}
	}
}

// TestSmallTablesUseTheStash fills many tables with ordinary fingerprints: some have no
// room in the places of a few, and all are found.
func TestSmallTablesUseTheStash(t *testing.T) {
	used, most := 0, 0
	for seed := range uint64(1000) {
		table, random, prints, stashed := &Table{}, rand.New(rand.NewPCG(seed, 10)), map[uint64]bool{}, 0
		for range 300 {
			fp := printOf(random)
			table.Insert(fp)
			prints[fp] = true
			stashed = max(stashed, len(table.stash))
		}
		for fp := range prints {
			if table.Find(fp) == nil {
				t.Fatalf("%#x is lost", fp)
			}
		}
		if most = max(most, stashed); stashed > 0 {
			used++
		}
	}
	if used == 0 || used > 100 || most > 5 {
		t.Errorf("%d of 1000 tables used the stash, with up to %d slots", used, most)
	}
}

// TestStash fills one place until nothing can be moved, and empties it again.
func TestStash(t *testing.T) {
	table, want := &Table{mask: 255}, map[uint64]uint64{}
	random := rand.New(rand.NewPCG(7, 8))
	var prints []uint64 // both their places are set 0, in tables of up to 256 sets
	for len(prints) < 200 {
		if fp := random.Uint64() << 8; fp != 0 {
			if first, second := table.places(fp); first == 0 && second == 0 {
				prints = append(prints, fp)
			}
		}
	}
	*table = Table{}
	for i, fp := range prints {
		w := uint64(i)
		table.Insert(fp).Words = [2]uint64{w, ^w}
		want[fp] = w
	}
	if len(table.stash) == 0 {
		t.Fatal("nothing is in the stash: this test says nothing")
	}
	checkAgainst(t, table, want)
	for range 10 { // what becomes free in the set is taken from the stash as the table grows
		fp := table.set(0)[0].Print
		table.Remove(table.Find(fp))
		delete(want, fp)
		for range 20 {
			fp, w := printOf(random), random.Uint64()
			table.Insert(fp).Words = [2]uint64{w, ^w}
			want[fp] = w
		}
	}
	checkAgainst(t, table, want)
	for fp := range want {
		table.Remove(table.Find(fp))
		delete(want, fp)
	}
	checkAgainst(t, table, want)
}

// stashed has two full sets that nothing can leave, room elsewhere, and a stash of three
// slots, whose prints are returned in their order.
func stashed(t *testing.T) (table *Table, prints []uint64) {
	table = &Table{}
	for range 4 {
		table.grow()
	}
	for i := range 2 {
		for range ways {
			table.set(i).put(between(table, i, i))
		}
	}
	table.used = 2 * ways
	for i := range 3 {
		fp := between(table, 0, 0)
		table.Insert(fp).Words[0] = uint64(i)
		prints = append(prints, fp)
	}
	if len(table.stash) != 3 || table.Len() != 2*ways+3 {
		t.Fatalf("%d slots are in the stash, of %d", len(table.stash), table.Len())
	}
	return table, prints
}

// TestStashIsUsedAgain takes a slot out of its middle: the next one to come has it.
func TestStashIsUsedAgain(t *testing.T) {
	table, prints := stashed(t)
	table.Remove(table.Find(prints[1]))
	fp := between(table, 1, 1)
	table.Insert(fp).Words[0] = 9
	if len(table.stash) != 3 || table.Len() != 2*ways+3 {
		t.Errorf("%d slots are in the stash, of %d", len(table.stash), table.Len())
	}
	for fp, want := range map[uint64]uint64{prints[0]: 0, fp: 9, prints[2]: 2} {
		if s := table.Find(fp); s == nil || s.Words[0] != want {
			t.Errorf("found %v, want a slot of %d", s, want)
		}
	}
	if s := table.Find(prints[1]); s != nil {
		t.Errorf("%v is still there", s)
	}
}

// TestStashIsSwept drops all that is in it, and nothing else.
func TestStashIsSwept(t *testing.T) {
	table, prints := stashed(t)
	in := map[uint64]bool{}
	for _, fp := range prints {
		in[fp] = true
	}
	if n := table.Sweep(0, func(s *Slot) bool { return in[s.Print] }); n != 3 || table.Len() != 2*ways {
		t.Errorf("dropped %d, %d are left", n, table.Len())
	}
}

// TestStashIsEmptied lets a table grow, which moves one slot out of the stash each time
// that its place has room.
func TestStashIsEmptied(t *testing.T) {
	want := func(table *Table, n int) {
		t.Helper()
		table.unstash()
		if len(table.stash) != n {
			t.Errorf("%d slots are in the stash, want %d", len(table.stash), n)
		}
	}
	table, prints := stashed(t)
	want(table, 3) // there is no room
	table.Remove(table.Find(prints[2]))
	want(table, 2) // it was empty
	for w := range 3 {
		table.Remove(&table.set(0)[w])
	}
	want(table, 1)
	want(table, 0)
	want(table, 0)
	for i, fp := range prints[:2] {
		if s := table.Find(fp); s == nil || s.Words[0] != uint64(i) {
			t.Errorf("found %v, want the slot of %d", s, i)
		}
	}
}

// TestTableHasNoPointers holds the size of a slot, and that the collector has
// nothing to look at in it.
func TestTableHasNoPointers(t *testing.T) {
	if size := unsafe.Sizeof(Slot{}); size != 24 {
		t.Errorf("a slot has %d bytes", size)
	}
	if size := unsafe.Sizeof(set{}); size != 3*64 {
		t.Errorf("a set has %d bytes, and not three lines of a cache", size)
	}
	table, random := &Table{}, rand.New(rand.NewPCG(5, 6))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const keys = 200_000
	for range keys {
		table.Insert(printOf(random))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if bytes := float64(after.HeapAlloc-before.HeapAlloc) / keys; bytes > 31 || bytes < 24 {
		t.Errorf("%.1f bytes a slot", bytes)
	}
	runtime.KeepAlive(table)
}
