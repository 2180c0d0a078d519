package table

import "math/bits"

// A Slot is what the table holds of one state. A pointer to one is good until the next
// Insert, which moves slots.
type Slot struct {
	Print uint64    // the fingerprint, never 0
	Words [2]uint64 // the caller's
}

const (
	ways = 8 // slots of a set

	// chunkSets is how many sets are allocated at a time: 6 KiB, so that no step
	// takes long and a small table is small.
	chunkSets = 32

	// The table grows when it would be filled beyond fullNum/fullDen. At four
	// fifths, with eight ways, there was room for every slot in one of its places, in
	// 25 million insertions, but in tables of fewer than 256: one in twenty of these
	// had up to five slots without any. At nine tenths two in ten thousand have none.
	fullNum, fullDen = 4, 5
)

// A set is one of the two places of a slot. Empty slots have the fingerprint 0.
type set [ways]Slot

// match has bit w set where the print of way w of a is fp, and the bits behind those for
// b. It has neither branches nor a loop, so that all prints are fetched from memory side
// by side, and none is guessed at.
func match(a, b *set, fp uint64) uint {
	const _ = uint(8 - ways) // that there are no more
	return a[0].is(fp) | a[1].is(fp)<<1 | a[2].is(fp)<<2 | a[3].is(fp)<<3 |
		a[4].is(fp)<<4 | a[5].is(fp)<<5 | a[6].is(fp)<<6 | a[7].is(fp)<<7 |
		b[0].is(fp)<<8 | b[1].is(fp)<<9 | b[2].is(fp)<<10 | b[3].is(fp)<<11 |
		b[4].is(fp)<<12 | b[5].is(fp)<<13 | b[6].is(fp)<<14 | b[7].is(fp)<<15
}

// is gives 1 where the slot's print is fp.
func (s *Slot) is(fp uint64) (one uint) {
	if s.Print == fp {
		one = 1
	}
	return one
}

// free is the way of an empty slot, or -1.
func (s *set) free() int {
	for w := range s {
		if s[w].Print == 0 {
			return w
		}
	}
	return -1
}

// A Table is empty when it is zero. It is not safe for concurrent use.
type Table struct {
	chunks []*[chunkSets]set
	sets   int    // how many are in use
	mask   uint64 // the bits of a hash that all sets are chosen by
	split  int    // sets before this one, and those split off them, are chosen by one bit more
	used   int    // slots in use
	hand   int    // where the sweep goes on

	// stash holds slots for which neither place had room, until there is some. It is
	// there so that Insert cannot fail.
	stash []Slot
}

// Len is the number of slots in use.
func (t *Table) Len() int { return t.used }

// Room is the number of slots that there are, in use or not.
func (t *Table) Room() int { return t.sets * ways }

func (t *Table) set(i int) *set { return &t.chunks[uint(i)/chunkSets][uint(i)%chunkSets] }

// place is the set that a hash stands for: by one bit more than the mask, or by the mask
// where that would be beyond the last set, for then the set is not split yet. Which of
// them it is cannot be guessed, and is no branch.
func (t *Table) place(hash uint64) int {
	i := int(hash & (t.mask<<1 | 1))
	none := (t.sets - 1 - i) >> 63 // all bits, or no bit
	return i &^ (none & int(t.mask+1))
}

// places are the two sets of a fingerprint. They may be one.
func (t *Table) places(fp uint64) (first, second int) {
	return t.place(fp), t.place(again(fp))
}

// again is another hash of a fingerprint.
func again(fp uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	return bits.RotateLeft64(fp*odd, 32)
}

// other is the place of a fingerprint that is not i, or i where both are one.
func (t *Table) other(fp uint64, i int) int {
	first, second := t.places(fp)
	if first == i {
		return second
	}
	return first
}

// Find is the slot of a fingerprint, nil where there is none.
func (t *Table) Find(fp uint64) *Slot {
	if t.sets == 0 {
		return nil
	}
	a, b := t.set(t.place(fp)), t.set(t.place(again(fp)))
	if m := match(a, b, fp); m != 0 {
		w := bits.TrailingZeros(m)
		if w >= ways {
			a = b
		}
		return &a[w%ways]
	}
	for k := range t.stash {
		if t.stash[k].Print == fp {
			return &t.stash[k]
		}
	}
	return nil
}

// Remove empties a slot. Other slots stay where they are.
func (t *Table) Remove(s *Slot) {
	*s = Slot{}
	t.used--
}

// Insert adds a fingerprint, not 0, that Find has not found. The words of its slot
// are zero. It moves thirteen slots at most: eight where a set is split, one and
// two more for it out of the stash, and two for its own place.
func (t *Table) Insert(fp uint64) *Slot {
	if (t.used+1)*fullDen > t.Room()*fullNum {
		t.grow()
	}
	t.used++
	if s := t.insert(fp); s != nil {
		return s
	}
	for k := range t.stash {
		if t.stash[k].Print == 0 {
			t.stash[k].Print = fp
			return &t.stash[k]
		}
	}
	t.stash = append(t.stash, Slot{Print: fp})
	return &t.stash[len(t.stash)-1]
}

// insert puts a fingerprint into one of its places, nil where there is no room.
func (t *Table) insert(fp uint64) *Slot {
	i, j := t.places(fp)
	for _, at := range [...]int{i, j} {
		if s := t.set(at); s.free() >= 0 {
			return s.put(fp)
		}
	}
	if t.makeRoom(i, 0) || t.makeRoom(i, 1) {
		return t.set(i).put(fp)
	}
	if t.makeRoom(j, 0) || t.makeRoom(j, 1) {
		return t.set(j).put(fp)
	}
	return nil
}

// put takes an empty slot of the set.
func (s *set) put(fp uint64) *Slot {
	slot := &s[s.free()]
	slot.Print = fp
	return slot
}

// grow splits one set: those of its slots that have neither place there any more
// move to a new one.
func (t *Table) grow() {
	if t.sets == len(t.chunks)*chunkSets {
		t.chunks = append(t.chunks, new([chunkSets]set))
	}
	t.sets++
	if t.sets == 1 {
		return
	}
	i := t.split
	if t.split++; uint64(t.split) > t.mask {
		t.split, t.mask = 0, t.mask<<1|1
	}
	from, to, n := t.set(i), t.set(t.sets-1), 0
	for w := range from {
		fp := from[w].Print
		if first, second := t.places(fp); fp != 0 && first != i && second != i {
			to[n], from[w] = from[w], Slot{}
			n++
		}
	}
	t.unstash()
}

// unstash moves one slot of the stash to where it belongs, if there is room now.
func (t *Table) unstash() {
	last := len(t.stash) - 1
	if last < 0 {
		return
	}
	if s := t.stash[last]; s.Print != 0 {
		to := t.insert(s.Print)
		if to == nil {
			return
		}
		*to = s
	}
	t.stash = t.stash[:last]
}

// makeRoom moves a slot of a full set to its other place, where that is full after
// one there, as deep as that may go, and reports whether it could.
func (t *Table) makeRoom(i, depth int) bool {
	s := t.set(i)
	for w := range s {
		j := t.other(s[w].Print, i)
		to := t.set(j)
		if j == i || to.free() < 0 && (depth == 0 || !t.makeRoom(j, depth-1)) {
			continue
		}
		to[to.free()], s[w] = s[w], Slot{}
		return true
	}
	return false
}

// Sweep looks at the slots of the next sets, n of them, and removes those that drop
// says. The sets stand in no order of their own, so that those of one age are spread
// over all of them. It returns how many slots it has removed.
func (t *Table) Sweep(n int, drop func(*Slot) bool) (dropped int) {
	for range min(n, t.sets) {
		if t.hand++; t.hand >= t.sets {
			t.hand = 0
		}
		dropped += sweep(t.set(t.hand)[:], drop)
	}
	dropped += sweep(t.stash, drop)
	t.used -= dropped
	return dropped
}

func sweep(slots []Slot, drop func(*Slot) bool) (dropped int) {
	for w := range slots {
		if s := &slots[w]; s.Print != 0 && drop(s) {
			*s = Slot{}
			dropped++
		}
	}
	return dropped
}

// Each visits all slots in use.
func (t *Table) Each(visit func(*Slot)) {
	t.Sweep(t.sets, func(s *Slot) bool {
		visit(s)
		return false
	})
}
