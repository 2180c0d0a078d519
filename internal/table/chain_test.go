package table

import (
	"cmp"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// item is one of a chain, as the tests keep it.
type item struct {
	at, units int64
	name      Name
}

func sum(items []item) (units int64) {
	for _, i := range items {
		units += i.units
	}
	return units
}

// checkLog compares a chain with a list of what it should hold.
func checkLog(t rapid.TB, logs *Logs, c *Chain, want []item) {
	var got []item
	for mark := logs.Next(c, 0); mark != 0; mark = logs.Next(c, mark) {
		at, weight := logs.Item(mark)
		got = append(got, item{at: at, units: weight})
	}
	if !slices.Equal(got, want) || c.Units != sum(want) {
		t.Fatalf("got %v, %d units, want %v", got, c.Units, want)
	}
	if (len(want) == 0) != (*c == Chain{}) {
		t.Fatalf("%+v of %d items", *c, len(want))
	}
}

// A log is a queue of items, in any order of what may be done to several of them in
// one slab, and has no more blocks than LogBlocks says.
func TestLogsAreQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var logs Logs
		chains, want := make([]Chain, 3), make([][]item, 3)
		late := int64(1)<<52 - 2000 // the last instants that an item can have
		now := rapid.SampledFrom([]int64{1, 1_796_022_366_123_456, late}).Draw(t, "now")
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "chain")
			c, list := &chains[i], want[i]
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				until := now - rapid.Int64Range(-1, 20).Draw(t, "age")
				logs.Drop(c, until)
				want[i] = slices.DeleteFunc(list, func(i item) bool { return i.at <= until })
			case 1, 2:
				at := now - rapid.Int64Range(0, 20).Draw(t, "age")
				weight := rapid.Int64Range(1, 5).Draw(t, "weight")
				logs.Lower(c, at, weight)
				want[i] = lowered(list, at, weight)
			case 3:
				logs.Free(c)
				want[i] = nil
			default:
				now += rapid.Int64Range(0, 3).Draw(t, "step")
				weight := rapid.Int64Range(1, 4).Draw(t, "weight")
				logs.Add(c, now, weight)
				if n := len(list); n > 0 && list[n-1].at == now {
					list[n-1].units += weight
				} else {
					want[i] = append(list, item{at: now, units: weight})
				}
			}
			most := 0
			for i := range chains {
				checkLog(t, &logs, &chains[i], want[i])
				if n := len(want[i]); n > 0 {
					most += LogBlocks(n)
				}
			}
			if n := logs.Blocks(); n > most {
				t.Fatalf("%d blocks in use, want at most %d", n, most)
			}
		}
		var others Logs
		copied := others.Copy(&logs, &chains[0])
		checkLog(t, &others, &copied, want[0])
		checkLog(t, &logs, &chains[0], want[0])
		for i := range chains {
			logs.Free(&chains[i])
		}
		if n := logs.Blocks(); n != 0 {
			t.Fatalf("%d blocks of empty chains are in use", n)
		}
	})
}

// lowered takes weight off the item of an instant.
func lowered(list []item, at, weight int64) []item {
	for i := range list {
		if list[i].at == at && list[i].units >= weight {
			list[i].units -= weight
		}
	}
	return slices.DeleteFunc(list, func(i item) bool { return i.units == 0 })
}

// A block has seven items, and a mark no more bits than is said, in a slab as large as
// is said.
func TestBlocksAndMarksAreAsLargeAsIsSaid(t *testing.T) {
	var logs Logs
	var c Chain
	for at := int64(1); at <= 15; at++ {
		logs.Add(&c, at, 1)
		if want := int(at+6) / 7; logs.Blocks() != want {
			t.Errorf("%d items are in %d blocks, want %d", at, logs.Blocks(), want)
		}
	}
	const lastBlock = 1<<30 - 1
	if last := firstOf(lastBlock) | lastWord; bits.Len64(last) != MarkBits || blockOf(last) != lastBlock || wordOf(last) != 7 {
		t.Errorf("the last mark is %#x, of word %d in block %d: %d bits, want %d", last, wordOf(last), blockOf(last), bits.Len64(last), MarkBits)
	}
	if MostWeight != 4095 {
		t.Errorf("an item weighs up to %d, want what 12 bits hold", MostWeight)
	}
}

// A chain of so many items has as many blocks as LogBlocks says where its first item
// stands worst in its block, and never more.
func TestLogBlocksAreThoseOfTheWorstPlace(t *testing.T) {
	for items := 1; items <= 40; items++ {
		most := 0
		for gone := range 2 * perBlock { // that stood before them
			var logs Logs
			var c Chain
			for at := range gone + items {
				logs.Add(&c, int64(at), 1)
			}
			logs.Drop(&c, int64(gone)-1)
			if c.Units != int64(items) {
				t.Fatalf("%d items are %+v", items, c)
			}
			most = max(most, logs.Blocks())
		}
		if want := LogBlocks(items); most != want {
			t.Errorf("%d items are in up to %d blocks, want %d", items, most, want)
		}
	}
}

// Whichever item of a chain is lowered, wherever the chain begins in its block: a part
// of its weight leaves all others, and the whole takes it alone out.
func TestLogsLowerOneItemAlone(t *testing.T) {
	for n := range int64(17) {
		for gone := range int64(perBlock) {
			for at := range n + 2 { // those at the ends are no items
				lowerOne(t, n, gone, at, 1)
				lowerOne(t, n, gone, at, 2)
				lowerOne(t, n, gone, at, 3)
			}
		}
	}
}

// lowerOne lowers the item of one instant, in a chain of n that weigh 2 each and before
// which others are gone, in a slab that holds another chain too.
func lowerOne(t *testing.T, n, gone, at, weight int64) {
	t.Helper()
	var logs Logs
	var c, other Chain
	var want []item
	for i := 1 - gone; i <= n; i++ {
		logs.Add(&c, i+100, 2)
		if i > 0 {
			want = append(want, item{at: i + 100, units: 2})
		}
	}
	logs.Drop(&c, 100)
	logs.Add(&other, at+100, 9)
	logs.Lower(&c, at+100, weight)
	checkLog(t, &logs, &c, lowered(want, at+100, weight))
	checkLog(t, &logs, &other, []item{{at: at + 100, units: 9}})
	logs.Add(&c, 200, 1)
	logs.Drop(&c, 199)
	checkLog(t, &logs, &c, []item{{at: 200, units: 1}})
}

// The heaviest item there is keeps its instant.
func TestLogsHoldTheHeaviestItem(t *testing.T) {
	var logs Logs
	var c Chain
	const last = 1<<52 - 1
	logs.Add(&c, last, 1)
	logs.Add(&c, last, MostWeight-1)
	if at, weight := logs.Item(c.First); at != last || weight != MostWeight || c.First != c.Last {
		t.Errorf("%d, %d: %+v", at, weight, c)
	}
}

// What is beyond the most units that a chain has is not added, and spoils nothing of
// what stands there.
func TestLogsAddNoMoreThanTheyHold(t *testing.T) {
	var logs Logs
	var c Chain
	logs.Add(&c, 5, MostWeight-1)
	logs.Add(&c, 5, 2)
	logs.Add(&c, 6, 1)
	if at, weight := logs.Item(c.First); at != 5 || weight != MostWeight || c.First != c.Last || c.Units != MostWeight {
		t.Errorf("%d, %d: %+v", at, weight, c)
	}
	logs.Drop(&c, 5)
	if c != (Chain{}) || logs.Blocks() != 0 {
		t.Errorf("%+v is left, of %d blocks", c, logs.Blocks())
	}
}

// ownerOf is what the tests take for the owner of a name: 32 bits, each name's own.
func ownerOf(n *Name) uint32 { return ^(uint32(n[0])<<8 | uint32(n[15])) }

// checkLeases compares a chain with a list of what it should hold.
func checkLeases(t *rapid.T, leases *Leases, c *Chain, want []item) {
	slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.at, b.at) })
	var got []int64
	for mark := leases.Next(c, 0); mark != 0; mark = leases.Next(c, mark) {
		got = append(got, leases.End(mark))
	}
	var ends []int64
	for i := range want {
		ends = append(ends, want[i].at)
		if mark := leases.Find(c, &want[i].name); mark == 0 || leases.End(mark) != want[i].at {
			t.Fatalf("holder %v has mark %d, want one that ends at %d", want[i].name, mark, want[i].at)
		}
		if !leases.Has(c, ownerOf(&want[i].name)) {
			t.Fatalf("nobody is found of the owner of holder %v", want[i].name)
		}
	}
	if !slices.Equal(got, ends) || c.Units != int64(len(want)) || (len(want) == 0) != (*c == Chain{}) {
		t.Fatalf("got %v in %+v, want %v", got, *c, ends)
	}
	if other := (Name{0xff}); leases.Find(c, &other) != 0 || leases.Has(c, ownerOf(&other)) {
		t.Fatal("a holder is found that there is not")
	}
}

// A holder is found by all bits of his owner, and by nothing else, whoever stands behind
// him in the chain.
func TestLeasesKnowTheirOwners(t *testing.T) {
	owners := []uint32{0, 1, 1 << 16, 1 << 30, 1 << 31, 1<<31 - 1, 1<<32 - 1}
	for i, owner := range owners {
		var leases Leases
		var c Chain
		leases.Add(&c, &Name{1}, owner, 10)
		for n := range byte(3) {
			leases.Add(&c, &Name{2, n}, owner, 20)
		}
		for j, other := range owners {
			if leases.Has(&c, other) != (i == j) {
				t.Errorf("holders of owner %#x are found of %#x: %t", owner, other, i != j)
			}
		}
	}
}

// Names that differ in any one byte are those of two holders.
func TestLeasesTellNamesApart(t *testing.T) {
	for i := range len(Name{}) {
		var leases Leases
		var c Chain
		one, other := Name{0: 7, 15: 7}, Name{0: 7, 15: 7}
		other[i]++
		leases.Add(&c, &one, 1, 10)
		if mark := leases.Find(&c, &other); mark != 0 {
			t.Errorf("byte %d: %v is found as %v", i, one, other)
		}
		leases.Add(&c, &other, 1, 20)
		if a, b := leases.Find(&c, &one), leases.Find(&c, &other); a == 0 || b == 0 || leases.End(a) != 10 || leases.End(b) != 20 {
			t.Errorf("byte %d: %v and %v are at the marks %d and %d", i, one, other, a, b)
		}
	}
}

// Leases stand in the order in which they end, whoever comes, goes and is renewed in
// several chains of one slab; each has one block.
func TestLeasesStandInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var leases Leases
		chains, want := make([]Chain, 3), make([][]item, 3)
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "chain")
			c, list := &chains[i], want[i]
			end := rapid.Int64Range(1, 60).Draw(t, "end")
			verb := rapid.IntRange(0, 9).Draw(t, "step")
			switch {
			case verb == 0:
				leases.Drop(c, end)
				want[i] = slices.DeleteFunc(list, func(i item) bool { return i.at <= end })
			case verb == 1:
				leases.Free(c)
				want[i] = nil
			case verb < 4 && len(list) > 0:
				h := rapid.IntRange(0, len(list)-1).Draw(t, "holder")
				leases.Remove(c, leases.Find(c, &list[h].name))
				want[i] = slices.Delete(list, h, h+1)
			case verb < 6 && len(list) > 0:
				h := rapid.IntRange(0, len(list)-1).Draw(t, "holder")
				leases.Move(c, leases.Find(c, &list[h].name), end)
				list[h].at = end
			default:
				name := Name{byte(step), 15: byte(i + 1)}
				leases.Add(c, &name, ownerOf(&name), end)
				want[i] = append(list, item{end, 1, name})
			}
			held := 0
			for i := range chains {
				checkLeases(t, &leases, &chains[i], want[i])
				held += len(want[i])
			}
			if n := leases.Blocks(); n != held {
				t.Fatalf("%d blocks of %d holders", n, held)
			}
		}
	})
}
