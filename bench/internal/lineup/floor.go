package lineup

import (
	"hash/maphash"
	"math/bits"
	"time"
)

// Loop is the name of the measuring itself.
const Loop = "loop"

func floors() []Contender {
	return []Contender{
		{Name: Loop, Kind: Floor, Remark: "reads the key and calls a function: in every figure here", New: loop, Aging: aging(loop)},
		{Name: "bare", Kind: Floor, Remark: "loop + seeded hash + one dependent read + one reading of the clock", New: bare},
	}
}

func loop(Quota, int) (*Limiter, error) {
	return asks(func(key string) Verdict { return verdict(len(key) > 0) }), nil
}

// slotSize and slotRoom make the table of bare as large as weir's is: 30 bytes a key.
const (
	slotSize = 24
	slotRoom = 1.25
)

// slot is what a key might need; bare reads its first word.
type slot [slotSize / 8]int64

// bare is what no keyed decision with an exact clock can do without: a hash that
// strangers cannot foresee, one access to memory whose place hangs on it, in a
// table of the size of weir's, and one reading of the monotonic clock. It
// decides nothing and writes nothing.
func bare(_ Quota, keys int) (*Limiter, error) {
	table := make([]slot, int(float64(keys)*slotRoom)+1)
	for i := range table {
		table[i][0] = -1 // a page that was never written is no memory access
	}
	seed, begin := maphash.MakeSeed(), time.Now()
	return asks(func(key string) Verdict {
		at, _ := bits.Mul64(maphash.String(seed, key), uint64(len(table)))
		until := table[at][0]
		return verdict(until < int64(time.Since(begin)))
	}), nil
}
