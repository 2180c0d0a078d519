package memstore

import (
	"errors"
	"fmt"
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

// TestEnoughIsEnough follows what the refusal of a limit of large keys says: with so many
// keys, and with more, there is room for one of its keys.
func TestEnoughIsEnough(t *testing.T) {
	for _, c := range [...]struct{ count, room, enough int }{
		{15, 7, 0}, // the smallest store has eight cells
		{16, 9, 1096},
		{100, 33, 1288},
		{1200, 347, 3800},
		{1780, 513, 75045},
		{3000, 861, 125952},
		{4095, 1173, 171594},
	} {
		l, err := weir.ParseLimit("x", fmt.Sprintf("%d/min sliding-log", c.count))
		if err != nil {
			t.Fatal(err)
		}
		enough := 0
		if refusal, ok := errors.AsType[*RoomError](Config{MaxKeys: 64}.sizes().tooSmallFor(l)); ok {
			enough = refusal.Enough
		}
		if room := roomOf(l); room != c.room || enough != c.enough {
			t.Errorf("%s takes the room of %d, and wants %d keys; want %d and %d", l, room, enough, c.room, c.enough)
		}
		for keys := max(enough, 64); keys < 4*enough; keys += 1 + enough/5000 {
			if err := (Config{MaxKeys: keys}).sizes().tooSmallFor(l); err != nil {
				t.Fatalf("%s in a store of %d: %v", l, keys, err)
			}
		}
	}
}
