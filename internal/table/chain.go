package table

// A Chain is a list of items in the blocks of a slab, in the order of their instants.
// It is empty when it is zero. It belongs to the slab that has changed it, [Logs] or
// [Leases], and says where its items are by marks: a number above 0 for each, below
// 2^[MarkBits], that stays until the item goes or is moved.
type Chain struct {
	First, Last uint64 // the marks of the first item and the last; 0 for an empty one
	Units       int64  // of all items together
}

// MarkBits is how many bits a mark has, of a slab of up to 2^30 blocks.
const MarkBits = 33

// The lower bits of a mark say which word of a block holds the item.
const (
	wordBits = 3
	lastWord = 1<<wordBits - 1
)

// firstOf is the mark of the first item of a block.
func firstOf(block uint32) uint64 { return uint64(block)<<wordBits | 1 }

func blockOf(mark uint64) uint32 { return uint32(mark >> wordBits) }

func wordOf(mark uint64) int { return int(mark & lastWord) }
