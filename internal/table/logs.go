package table

// Logs holds chains of weighted instants: the queues of what was charged when. An item
// is one word, 52 bits of an instant in microseconds and 12 of a weight; a block has
// seven of them behind its link. New ones come last, and the first go.
//
// It is empty when it is zero, and not safe for concurrent use.
type Logs struct{ slab Slab[logBlock] }

type logBlock [8]int64

// perBlock is how many items a block of a log has.
const perBlock = lastWord

const (
	weightBits = 12

	// MostWeight is the largest weight of an item, and of a chain.
	MostWeight = 1<<weightBits - 1
)

// LogBlocks is how many blocks a chain of so many items has at most: the first of
// them may stand anywhere in its block.
func LogBlocks(items int) int { return (items + perBlock - 1 + perBlock - 1) / perBlock }

// Item is the item at a mark.
func (s *Logs) Item(mark uint64) (at, weight int64) {
	w := uint64(s.slab.At(blockOf(mark))[wordOf(mark)])
	return int64(w >> weightBits), int64(w & MostWeight)
}

func (s *Logs) write(mark uint64, at, weight int64) {
	s.slab.At(blockOf(mark))[wordOf(mark)] = at<<weightBits | weight
}

// Next is the mark behind one of a chain, the first one for 0; 0 behind the last.
func (s *Logs) Next(c *Chain, mark uint64) uint64 {
	switch {
	case mark == 0:
		return c.First
	case mark == c.Last:
		return 0
	case wordOf(mark) < lastWord:
		return mark + 1
	}
	return firstOf(link(s.slab.At(blockOf(mark))) - 1)
}

// Add puts a weight at the end, 1 or more, at an instant that is not before the last
// one. Items of one instant are one. A chain has MostWeight units at most: what is
// beyond them is not added, lest it run over into an instant or a mark.
func (s *Logs) Add(c *Chain, at, weight int64) {
	if weight = min(weight, MostWeight-c.Units); weight <= 0 {
		return
	}
	c.Units += weight
	if c.Last == 0 {
		c.First = firstOf(s.slab.New())
		c.Last = c.First
		s.write(c.Last, at, weight)
		return
	}
	last, before := s.Item(c.Last)
	if last == at {
		s.write(c.Last, at, before+weight)
		return
	}
	if wordOf(c.Last) < lastWord {
		c.Last++
	} else {
		block := s.slab.New()
		s.slab.At(blockOf(c.Last))[0] = int64(block) + 1
		c.Last = firstOf(block)
	}
	s.write(c.Last, at, weight)
}

// Drop removes all items at or before an instant.
func (s *Logs) Drop(c *Chain, until int64) {
	for c.First != 0 {
		at, weight := s.Item(c.First)
		if at > until {
			return
		}
		c.Units -= weight
		s.dropFirst(c)
	}
}

// dropFirst takes the first item out of the chain, whose units are another's affair.
func (s *Logs) dropFirst(c *Chain) {
	if c.First == c.Last {
		s.slab.Free(blockOf(c.First))
		c.First, c.Last = 0, 0
		return
	}
	next := s.Next(c, c.First)
	if wordOf(c.First) == lastWord {
		s.slab.Free(blockOf(c.First))
	}
	c.First = next
}

// Lower takes weight off the item of an instant. One of which nothing is left goes,
// and those before it move up by one. Nothing happens where there is no such item, or
// it weighs less.
func (s *Logs) Lower(c *Chain, at, weight int64) {
	for mark := c.First; mark != 0; mark = s.Next(c, mark) {
		switch found, rest := s.Item(mark); {
		case found < at:
			continue
		case found > at || rest < weight:
		case rest > weight:
			s.write(mark, at, rest-weight)
			c.Units -= weight
		default:
			c.Units -= weight
			s.closeGap(c, mark)
		}
		return
	}
}

// closeGap takes the item at a mark out: the last as it came, and another by moving
// those before it.
func (s *Logs) closeGap(c *Chain, gap uint64) {
	moved := int64(0)
	for mark := c.First; ; mark = s.Next(c, mark) {
		word := &s.slab.At(blockOf(mark))[wordOf(mark)]
		moved, *word = *word, moved
		if mark == gap {
			break
		}
	}
	s.dropFirst(c)
}

// Free removes all items, in one step.
func (s *Logs) Free(c *Chain) {
	if c.First != 0 {
		s.slab.FreeChain(blockOf(c.First), blockOf(c.Last))
	}
	*c = Chain{}
}

// Copy makes a chain here of one that stands in other Logs.
func (s *Logs) Copy(from *Logs, c *Chain) Chain {
	var to Chain
	for mark := c.First; mark != 0; mark = from.Next(c, mark) {
		at, weight := from.Item(mark)
		s.Add(&to, at, weight)
	}
	return to
}

// Blocks is how many blocks are in use. It looks at all that are not.
func (s *Logs) Blocks() int { return s.slab.Len() }
