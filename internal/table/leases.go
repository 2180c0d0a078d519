package table

import "encoding/binary"

// Leases holds chains of named holders, in the order in which their leases end. Each
// has a block: its link, whose the holder is, the end of the lease in microseconds, and
// the name.
//
// It is empty when it is zero, and not safe for concurrent use.
type Leases struct{ slab Slab[leaseBlock] }

// A leaseBlock is a link with the owner in the upper half, an end, and the two halves of
// a name.
type leaseBlock [4]int64

// ownerBits is how far up in the first word of a block the owner stands.
const ownerBits = 32

func (b *leaseBlock) owner() uint32 { return uint32(b[0] >> ownerBits) }

// setLink makes a block say what follows it: a number and 1, or 0 for none.
func (b *leaseBlock) setLink(next uint32) { b[0] = b[0]>>ownerBits<<ownerBits | int64(next) }

// A Name is that of a holder.
type Name [16]byte

func (n *Name) words() (a, b int64) {
	return int64(binary.LittleEndian.Uint64(n[:8])), int64(binary.LittleEndian.Uint64(n[8:]))
}

// End is when the lease at a mark ends.
func (s *Leases) End(mark uint64) int64 { return s.slab.At(blockOf(mark))[1] }

// Next is the mark behind one of a chain, the first one for 0; 0 behind the last.
func (s *Leases) Next(c *Chain, mark uint64) uint64 {
	switch mark {
	case 0:
		return c.First
	case c.Last:
		return 0
	}
	return firstOf(link(s.slab.At(blockOf(mark))) - 1)
}

// Find is the mark of a holder, 0 where there is none of that name.
func (s *Leases) Find(c *Chain, name *Name) uint64 {
	a, b := name.words()
	for mark := c.First; mark != 0; mark = s.Next(c, mark) {
		if w := s.slab.At(blockOf(mark)); w[2] == a && w[3] == b {
			return mark
		}
	}
	return 0
}

// Has reports whether a chain has holders of an owner.
func (s *Leases) Has(c *Chain, owner uint32) bool {
	for mark := c.First; mark != 0; mark = s.Next(c, mark) {
		if s.slab.At(blockOf(mark)).owner() == owner {
			return true
		}
	}
	return false
}

// Add makes a holder of a name that none has, whose lease has an end. The owner is
// whatever several holders have in common.
func (s *Leases) Add(c *Chain, name *Name, owner uint32, end int64) {
	block := s.slab.New()
	a, b := name.words()
	*s.slab.At(block) = leaseBlock{int64(owner) << ownerBits, end, a, b}
	s.insert(c, firstOf(block), end)
}

// Move gives the lease at a mark another end.
func (s *Leases) Move(c *Chain, mark uint64, end int64) {
	s.unlink(c, mark)
	s.slab.At(blockOf(mark))[1] = end
	s.insert(c, mark, end)
}

// Remove takes a holder out.
func (s *Leases) Remove(c *Chain, mark uint64) {
	s.unlink(c, mark)
	s.slab.Free(blockOf(mark))
}

// Drop removes the holders whose leases end at or before an instant.
func (s *Leases) Drop(c *Chain, until int64) {
	for c.First != 0 && s.End(c.First) <= until {
		s.Remove(c, c.First)
	}
}

// insert links a block in behind the last lease that ends no later. That is the last
// of all, but where the leases of a limit have become shorter.
func (s *Leases) insert(c *Chain, mark uint64, end int64) {
	c.Units++
	before := c.Last
	if before != 0 && s.End(before) > end {
		before = 0
		for m := c.First; s.End(m) <= end; m = s.Next(c, m) {
			before = m
		}
	}
	next := s.Next(c, before)
	s.join(c, mark, next)
	s.join(c, before, mark)
	if next == 0 {
		c.Last = mark
	}
}

// unlink takes a block out of its chain.
func (s *Leases) unlink(c *Chain, mark uint64) {
	c.Units--
	before := uint64(0)
	for m := c.First; m != mark; m = s.Next(c, m) {
		before = m
	}
	next := s.Next(c, mark)
	s.join(c, before, next)
	if next == 0 {
		c.Last = before
	}
}

// join makes one mark follow another; 0 stands before the first and behind the last.
func (s *Leases) join(c *Chain, mark, next uint64) {
	if mark == 0 {
		c.First = next
		return
	}
	link := uint32(0)
	if next != 0 {
		link = blockOf(next) + 1
	}
	s.slab.At(blockOf(mark)).setLink(link)
}

// Free removes all holders, in one step.
func (s *Leases) Free(c *Chain) {
	if c.First != 0 {
		s.slab.FreeChain(blockOf(c.First), blockOf(c.Last))
	}
	*c = Chain{}
}

// Blocks is how many blocks are in use. It looks at all that are not.
func (s *Leases) Blocks() int { return s.slab.Len() }
