package policy

import (
	"cmp"
	"iter"
)

// The sizes of a table: where a file says nothing, and the largest that it may name.
const (
	defaultKeys = 1_000_000
	mostKeys    = 100_000_000
)

// Keys is MaxKeys, or what holds where the file says nothing.
func (m Memory) Keys() int { return cmp.Or(m.MaxKeys, defaultKeys) }

// largerTables are round numbers above a size, ascending, up to the largest that a file
// may name as memory.max_keys: what a hint proposes.
func largerTables(above int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for power := 100; power <= mostKeys; power *= 10 {
			for _, n := range [...]int{power, 2 * power, 3 * power, 5 * power} {
				if n > above && n <= mostKeys && !yield(n) {
					return
				}
			}
		}
	}
}

// parts is in how many parts a store divides a table of this size (see memstore.Config):
// each has as much of a rule's room, which is a multiple of them therefore.
func parts(maxKeys int) int {
	const most, keysOfPart = 64, 1024
	n := 1
	for n < most && entries(maxKeys)/(2*n) >= keysOfPart {
		n *= 2
	}
	return n
}

// entries is how much of a table of this size is not set apart for overflow.
func entries(maxKeys int) int { return maxKeys - maxKeys/8 }

// roomFor is how many keys of a table of this size can be kept for rules: half of its
// entries, as far as they can be divided.
func roomFor(maxKeys int) int {
	n := parts(maxKeys)
	return entries(maxKeys) / 2 / n * n
}
