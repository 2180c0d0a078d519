package table

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// placed is place as linear hashing is told: by as many bits as all sets have, or by one
// more where the set that those name is split.
func placed(sets int, hash uint64) int {
	level := 1
	for level*2 <= sets {
		level *= 2
	}
	i := int(hash % uint64(level))
	if split := sets - level; i < split {
		i = int(hash % uint64(2*level))
	}
	return i
}

// In a table of any size each hash has the place that linear hashing gives it, whatever
// stands in the bits beyond.
func TestPlaceIsLinearHashing(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	table := &Table{}
	for sets := 1; sets <= 1100; sets++ {
		table.grow()
		if table.sets != sets {
			t.Fatalf("%d sets, want %d", table.sets, sets)
		}
		for low := range uint64(2 * sets) {
			for _, hash := range [...]uint64{low, low | 1<<63, low | random.Uint64()<<12, ^low} {
				if got, want := table.place(hash), placed(sets, hash); got != want {
					t.Fatalf("%d sets: %#x is in set %d, want %d", sets, hash, got, want)
				}
			}
		}
	}
}

// So it is where a table has as many sets as no test makes.
func TestPlaceInLargeTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := 1 << rapid.IntRange(0, 29).Draw(t, "level")
		table := &Table{mask: uint64(level) - 1, split: rapid.IntRange(0, level-1).Draw(t, "split")}
		table.sets = level + table.split
		hash := rapid.Uint64().Draw(t, "hash")
		if near := rapid.IntRange(0, 2).Draw(t, "near"); near > 0 { // the set that is split next, and the last one
			hash = hash<<31 | uint64(max(0, table.split*(2-near)+(table.sets-1)*(near-1)+rapid.IntRange(-1, 1).Draw(t, "beside")))
		}
		if got, want := table.place(hash), placed(table.sets, hash); got != want {
			t.Fatalf("%d sets: %#x is in set %d, want %d", table.sets, hash, got, want)
		}
	})
}

// match has a bit for each way that holds the print, and no other.
func TestMatchNamesEachWay(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	prints := []uint64{0, 1, 1 << 32, 1 << 63, ^uint64(0), 1<<63 | 1}
	for range 2000 {
		var sets [2]set
		fp, want := prints[random.IntN(len(prints))], uint(0)
		for w := range 2 * ways {
			s := &sets[w/ways][w%ways]
			if *s = (Slot{Print: prints[random.IntN(len(prints))], Words: [2]uint64{fp, fp}}); s.Print == fp {
				want |= 1 << w
			}
		}
		if got := match(&sets[0], &sets[1], fp); got != want {
			t.Fatalf("%#x in %+v: %016b, want %016b", fp, sets, got, want)
		}
	}
	for way := range 2 * ways {
		for bit := range 64 { // prints that differ in any one bit are two
			var sets [2]set
			sets[way/ways][way%ways].Print = 7 ^ 1<<bit
			if got := match(&sets[0], &sets[1], 7); got != 0 {
				t.Fatalf("way %d: %#x is taken for 7: %b", way, 7^uint64(1)<<bit, got)
			}
		}
	}
}

// While a table grows from nothing, and is emptied, each of its slots is found at every
// size, and nothing that is not there. The prints of a crowd have one place or two.
func TestFindAtEverySize(t *testing.T) {
	for name, nth := range map[string]func(i uint64) uint64{
		"any":              func(i uint64) uint64 { return again(i*2 + 1) },
		"in order":         func(i uint64) uint64 { return i + 1 },
		"high bits":        func(i uint64) uint64 { return (i + 1) << 40 },
		"all but low bits": func(i uint64) uint64 { return ^(i << 20) },
	} {
		const most = 700
		table := &Table{}
		if table.Find(1) != nil {
			t.Fatal("something is in a table of no sets")
		}
		for i := range uint64(most) {
			if s := table.Find(nth(i)); s != nil {
				t.Fatalf("%s: %#x is there before it came: %+v", name, nth(i), *s)
			}
			table.Insert(nth(i)).Words[0] = i
			for j := range i + 1 {
				if s := table.Find(nth(j)); s == nil || s.Print != nth(j) || s.Words[0] != j {
					t.Fatalf("%s: of %d in %d sets the %dth is %+v", name, i+1, table.sets, j, s)
				}
			}
		}
		for i := range uint64(most) {
			table.Remove(table.Find(nth(i)))
			if s := table.Find(nth(i)); s != nil {
				t.Fatalf("%s: %#x is there after it was removed: %+v", name, nth(i), *s)
			}
		}
		table.Each(func(s *Slot) { t.Errorf("%s: %+v is left", name, *s) })
	}
}

// A slot stands in one of the two places that its print has at the table's size, or in
// the stash: else no table of that size would find it.
func TestSlotsStandInTheirPlaces(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 15))
		table := &Table{}
		for n := range 600 {
			table.Insert(printOf(random))
			for i := range table.sets {
				for w, s := range table.set(i) {
					if first, second := placed(table.sets, s.Print), placed(table.sets, again(s.Print)); s.Print != 0 && first != i && second != i {
						t.Fatalf("seed %d, %d sets: %#x is in way %d of set %d, its places are %d and %d", seed, table.sets, s.Print, w, i, first, second)
					}
				}
			}
			if n%50 == 0 {
				table.Sweep(1, func(*Slot) bool { return random.IntN(2) == 0 })
			}
		}
	}
}
