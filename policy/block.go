package policy

import (
	"context"
	"slices"

	"github.com/weirhq/weir"
)

// penalized reports whether a refusal may begin a block.
func penalized(takes []weir.Take) bool {
	return slices.ContainsFunc(takes, func(t weir.Take) bool { return t.Limit.Penalty() != nil })
}

// beginBlocks asks once more for what a look was refused, so that the refusal counts: a
// look blocks nobody. Where there is room by now, what was taken goes back as far as
// the store can tell, and the request goes on.
func (c *call) beginBlocks(ctx context.Context) (goOn bool) {
	if err := c.put(ctx, 0); err != nil {
		return c.fault(ctx, err)
	}
	o := c.outcome()
	if !o.Allowed {
		return false
	}
	_ = c.engine.GiveBack(ctx, o) // else it is charged twice, which frees nobody
	return true
}
