package table

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSlab takes and frees blocks in any order: nobody writes into another's, a new
// one is zero, and no more are held than were in use at a time.
func TestSlab(t *testing.T) {
	type block [4]int64
	rapid.Check(t, func(t *rapid.T) {
		slab, want, most := &Slab[block]{}, map[uint32]block{}, 0
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
			if _, ok := want[i]; ok || *slab.At(i) != (block{}) {
				t.Fatalf("block %d is in use: %v", i, *slab.At(i))
			}
			want[i] = block{rapid.Int64().Draw(t, "word"), 1, 2, 3}
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

// Chains come back whole, in one step, and what they had is used again.
func TestSlabTakesChainsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slab := &Slab[[8]int64]{}
		var chains [][]uint32
		used, most := 0, 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if n := len(chains); n > 0 && rapid.Bool().Draw(t, "free") {
				i := rapid.IntRange(0, n-1).Draw(t, "chain")
				slab.FreeChain(chains[i][0], chains[i][len(chains[i])-1])
				used -= len(chains[i])
				chains[i], chains = chains[n-1], chains[:n-1]
			} else {
				chain := []uint32{slab.New()}
				for range rapid.IntRange(0, 300).Draw(t, "more") {
					next := slab.New()
					slab.At(chain[len(chain)-1])[0] = int64(next) + 1
					chain = append(chain, next)
				}
				used += len(chain)
				chains = append(chains, chain)
			}
			most = max(most, used)
			if slab.Len() != used || slab.blocks > most {
				t.Fatalf("%d blocks in use and %d held, want %d and at most %d", slab.Len(), slab.blocks, used, most)
			}
			seen := map[uint32]bool{}
			for _, chain := range chains {
				for at, i := range chain {
					if seen[i] {
						t.Fatalf("block %d is in two places", i)
					}
					seen[i] = true
					if at+1 < len(chain) && link(slab.At(i)) != chain[at+1]+1 {
						t.Fatalf("block %d is followed by %d, want %d", i, link(slab.At(i)), chain[at+1]+1)
					}
				}
			}
		}
	})
}
