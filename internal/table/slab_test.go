package table

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSlab takes and frees blocks in any order: nobody writes into another's, a new
// one is zero, and no more are held than were in use at a time.
func TestSlab(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slab, want, most := &Slab{}, map[uint32]Block{}, 0
		for range rapid.IntRange(1, 500).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				for i := range want {
					slab.Free(i)
					delete(want, i)
					break
				}
				continue
			}
			i := slab.New()
			if _, ok := want[i]; ok || *slab.At(i) != (Block{}) {
				t.Fatalf("block %d is in use: %v", i, *slab.At(i))
			}
			want[i] = Block{rapid.Int64().Draw(t, "word"), 1, 2, 3}
			*slab.At(i) = want[i]
			most = max(most, len(want))
		}
		for i, b := range want {
			if *slab.At(i) != b {
				t.Fatalf("block %d: %v, want %v", i, *slab.At(i), b)
			}
		}
		if slab.Len() != len(want) || slab.blocks > most {
			t.Fatalf("%d blocks in use and %d held, want %d and %d", slab.Len(), slab.blocks, len(want), most)
		}
	})
}
