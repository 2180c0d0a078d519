package policy

import "github.com/weirhq/weir"

// lookEarly is how limits are asked that are asked before the others, and not charged.
// Who is refused by one of them is refused, and not only looked at: where it has a block,
// that begins, in the same call of the store. An explanation begins none.
func (c *call) lookEarly() weir.How {
	if c.peek {
		return weir.Peek
	}
	return weir.Peek | weir.Strike
}
