package memstore

import (
	"errors"
	"testing"

	"github.com/weirhq/weir"
)

// TestSizes has what follows from MaxKeys: an eighth for cells, parts of a thousand keys
// or more, room for a hundred limits before one has several cells.
func TestSizes(t *testing.T) {
	for keys, want := range map[int]sizes{
		64:      {keys: 56, shards: 1, cells: 1, limits: 8},
		1023:    {keys: 896, shards: 1, cells: 1, limits: 127},
		2048:    {keys: 1792, shards: 1, cells: 2, limits: 128},
		2339:    {keys: 2047, shards: 1, cells: 2, limits: 128},
		2340:    {keys: 2048, shards: 2, cells: 2, limits: 128},
		66_560:  {keys: 58_240, shards: 32, cells: 64, limits: 130},
		100_000: {keys: 87_500, shards: 64, cells: 64, limits: 195},
		0:       {keys: 875_000, shards: 64, cells: 64, limits: 1953},
		1 << 30: {keys: 7 << 27, shards: 64, cells: 64, limits: mostVersions / 2},
	} {
		c := Config{MaxKeys: keys}
		if got := c.sizes(); got != want || c.validate() != nil {
			t.Errorf("%d keys: %+v, %v, want %+v", keys, got, c.validate(), want)
		}
	}
	for _, keys := range []int{-1, 1, 63, 1<<30 + 1} {
		if err := (Config{MaxKeys: keys}).validate(); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%d keys: %v", keys, err)
		}
	}
}
