package table

// A Slab holds blocks of four words for states that do not fit a slot, each known
// by its number. It is empty when it is zero, has no pointers but to its chunks, and
// is not safe for concurrent use. Freed blocks are used again; their room stays.
type Slab struct {
	chunks []*[chunkBlocks]Block
	blocks int // that have been in use
	free   []uint32
}

// A Block is four words, the caller's.
type Block [4]int64

// chunkBlocks is how many blocks are allocated at a time: 4 KiB.
const chunkBlocks = 128

// New gives the number of a block that is zero. There are at most 2^32.
func (s *Slab) New() uint32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	if s.blocks == len(s.chunks)*chunkBlocks {
		s.chunks = append(s.chunks, new([chunkBlocks]Block))
	}
	s.blocks++
	return uint32(s.blocks - 1)
}

// At is the block of a number that New has given.
func (s *Slab) At(i uint32) *Block { return &s.chunks[i/chunkBlocks][i%chunkBlocks] }

// Free takes a block back.
func (s *Slab) Free(i uint32) {
	*s.At(i) = Block{}
	s.free = append(s.free, i)
}

// Len is the number of blocks in use.
func (s *Slab) Len() int { return s.blocks - len(s.free) }
