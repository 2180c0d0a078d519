package table

// A Slab holds blocks of four or eight words, each known by its number. It is empty
// when it is zero, has no pointers but to its chunks, and is not safe for concurrent
// use. Freed blocks are used again; their room stays.
type Slab[B Block] struct {
	chunks []*[chunkBlocks]B
	blocks int    // that have been in use
	free   uint32 // a chain of those that are not; see link
}

// A Block is some words, the caller's. In a block that is one of a chain the lower half
// of the first word is a link: the number of the next block and 1, or 0 where none
// follows.
type Block interface{ ~[4]int64 | ~[8]int64 }

// chunkBlocks is how many blocks are allocated at a time: 4 KiB, or 8.
const chunkBlocks = 128

// link is what a block says of the next: a number and 1, or 0 for none.
func link[B Block](b *B) uint32 { return uint32((*b)[0]) }

// New gives the number of a block that is zero. There are fewer than 2^32.
func (s *Slab[B]) New() uint32 {
	if s.free != 0 {
		i := s.free - 1
		b := s.At(i)
		s.free = link(b)
		var zero B
		*b = zero
		return i
	}
	if s.blocks == len(s.chunks)*chunkBlocks {
		s.chunks = append(s.chunks, new([chunkBlocks]B))
	}
	s.blocks++
	return uint32(s.blocks - 1)
}

// At is the block of a number that New has given.
func (s *Slab[B]) At(i uint32) *B { return &s.chunks[i/chunkBlocks][i%chunkBlocks] }

// Free takes a block back.
func (s *Slab[B]) Free(i uint32) { s.FreeChain(i, i) }

// FreeChain takes the blocks of a chain back, however many there are, in one step.
func (s *Slab[B]) FreeChain(first, last uint32) {
	(*s.At(last))[0] = int64(s.free)
	s.free = first + 1
}

// Len is the number of blocks in use. It looks at all that are not.
func (s *Slab[B]) Len() int {
	n := s.blocks
	for i := s.free; i != 0; i = link(s.At(i - 1)) {
		n--
	}
	return n
}
