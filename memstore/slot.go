package memstore

import (
	"encoding/binary"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// This file says how an entry stands in the table. Its fingerprint is a hash of the
// address; its two words are a packed state, in the upper bits, and in the lower ones
// the number of the version of the limit under which that was written:
//
//	word 0   54 bits of state | 10 bits of number
//	word 1   54 bits of state | 8 bits of number | wide | kept
//
// A state that does not fit is in a block of the shard's slab, whose number then
// stands for it (wide). One that is a list is never wide: see lists.go.
const (
	lowBits  = 64 - algorithm.PackedBits
	highBits = lowBits - 2
	lowMask  = 1<<lowBits - 1
	highMask = 1<<highBits - 1

	kept = 1 << 0 // the entry was reset while cells of its rule were in use: it says that the key starts anew
	wide = 1 << 1

	// mostVersions is how many versions of limits entries can name.
	mostVersions = 1 << (lowBits + highBits)
)

// address finds a state: which limit, which key.
type address struct {
	limit [16]byte
	key   weir.Key
}

// fingerprint is the address' fingerprint.
func (a *address) fingerprint() uint64 { return fingerprint(a.limit, &a.key) }

// fingerprint stands for a limit and a key, and is never 0. Both are hashes already, but
// for keys that tests make. Two of one fingerprint are taken for one caller if their
// limit is the same, which limits him more: of ten million keys, with a chance of one in
// three hundred thousand.
func fingerprint(limit [16]byte, key *weir.Key) uint64 {
	const odd = 0xd6e8feb86659fd93
	low, high := binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])
	h := (binary.LittleEndian.Uint64(limit[:8]) ^ high) * odd
	h = (h ^ h>>32 ^ low) * odd
	h ^= h >> 32
	// The shard hangs on the key alone: the limits of one key are under one lock.
	const shard = (mostShards - 1) << 32
	h = h&^shard | low*odd>>16&shard
	return max(h, 1)
}

// version is the number of the version of the limit that an entry was written under.
func version(s *table.Slot) int {
	return int(s.Words[0]&lowMask | s.Words[1]>>2&highMask<<lowBits)
}

// member is that version.
func (r *registry) member(s *table.Slot) *member { return (*r.numbered.Load())[version(s)] }

// isKept reports whether an entry stays though it is dead.
func isKept(s *table.Slot) bool { return s.Words[1]&kept != 0 }

// isWide reports whether an entry's state is in the slab.
func isWide(s *table.Slot) bool { return s.Words[1]&wide != 0 }

// state reads an entry.
func (sh *shard) state(s *table.Slot, m *member) algorithm.State {
	a, b := s.Words[0]>>lowBits, s.Words[1]>>lowBits
	switch {
	case m.list != nil:
		l := sh.listOf(s, m)
		return l.state()
	case s.Words[1]&wide != 0:
		return *sh.wide.At(uint32(a))
	case a|b == 0:
		return algorithm.State{}
	}
	return m.packer.Unpack(a, b)
}

// write puts a state into an entry that was written under the version m, and was
// judged by another or the same.
func (sh *shard) write(s *table.Slot, m, by *member, state algorithm.State) {
	if a, b, ok := by.pack(state); ok {
		sh.set(s, by, a, b)
		return
	}
	if a, b, ok := m.pack(state); ok {
		sh.set(s, m, a, b)
		return
	}
	if s.Words[1]&wide == 0 {
		sh.set(s, by, uint64(sh.wide.New()), 0)
		s.Words[1] |= wide
	}
	*sh.wide.At(uint32(s.Words[0] >> lowBits)) = state
}

// pack gives the words of a state that was written under the version, if it fits.
func (m *member) pack(state algorithm.State) (a, b uint64, ok bool) {
	if state == (algorithm.State{}) {
		return 0, 0, true
	}
	if m.packer == nil {
		return 0, 0, false
	}
	return m.packer.Pack(state)
}

// set fills in the words of an entry, which stays kept if it was.
func (sh *shard) set(s *table.Slot, m *member, a, b uint64) {
	sh.unblock(s)
	n := uint64(m.number)
	s.Words = [2]uint64{a<<lowBits | n&lowMask, b<<lowBits | n>>lowBits<<2 | s.Words[1]&kept}
}

// clear leaves an entry without a state.
func (sh *shard) clear(s *table.Slot, m *member) {
	if m.list == nil {
		sh.set(s, m, 0, 0)
		return
	}
	l := sh.listOf(s, m)
	l.free()
	sh.putList(s, m, &l)
}

// unblock frees the block of a wide entry.
func (sh *shard) unblock(s *table.Slot) {
	if s.Words[1]&wide != 0 {
		sh.wide.Free(uint32(s.Words[0] >> lowBits))
	}
}
