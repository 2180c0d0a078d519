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

// LargerTables are round numbers above a size, ascending, up to the largest that a file
// may name as memory.max_keys: what a hint proposes.
func LargerTables(above int) iter.Seq[int] {
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
