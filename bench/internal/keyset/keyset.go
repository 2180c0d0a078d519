package keyset

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"unsafe"
)

// Size is the length of a key in bytes: that of 203.113.007.042.
const Size = 15

// period is the least number of asks before an order begins again: enough that
// no branch predictor knows what comes next. Of one key there is no order.
const (
	period    = 1 << 20
	hotPeriod = 1 << 10
)

// skew is the exponent of the Zipf distribution.
const skew = 1.1

// A Set is a number of keys and the order in which they are asked for, which
// begins again at its end. It is read-only and safe for concurrent use.
type Set struct {
	// Name is the one that Parse knows.
	Name string
	// Keys is how many different keys a table holds that has met all of them.
	Keys  int
	order []byte
}

// names lists the sets, smallest first. The number of keys is that of the table;
// a Zipf order asks for a part of them only.
var names = [...]struct {
	name string
	keys int
	zipf bool
	what string
}{
	{"hot", 1, false, "one key"},
	{"1e5", 100_000, false, "100,000 keys, uniform"},
	{"zipf", 1_000_000, true, "1,000,000 keys, Zipf (s = 1.1)"},
	{"1e6", 1_000_000, false, "1,000,000 keys, uniform"},
	{"1e7", 10_000_000, false, "10,000,000 keys, uniform"},
}

// Names lists the sets that Parse knows, smallest first.
func Names() []string {
	var list []string
	for _, n := range names {
		list = append(list, n.name)
	}
	return list
}

// Title says in words what a set is.
func Title(name string) string {
	for _, n := range names {
		if n.name == name {
			return n.what
		}
	}
	return name
}

// Parse makes the set of a name. The same name makes the same keys in the same
// order, in every process.
func Parse(name string) (*Set, error) {
	for _, n := range names {
		switch {
		case n.name != name:
		case n.keys == 1:
			return Uniform(n.name, n.keys, hotPeriod)
		case n.zipf:
			return Zipf(n.name, n.keys, period)
		default:
			return Uniform(n.name, n.keys, period)
		}
	}
	return nil, fmt.Errorf("key set %q: there is none of that name; write one of %s", name, strings.Join(Names(), ", "))
}

// Uniform asks for all keys equally often: random orders of all of them follow
// each other until there are at least so many asks.
func Uniform(name string, keys, asks int) (*Set, error) {
	if keys < 1 {
		return nil, errNoKeys
	}
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]uint32, keys)
	for i := range ids {
		ids[i] = uint32(i)
	}
	s := &Set{Name: name, Keys: keys}
	rounds := max(1, (asks+keys-1)/keys)
	s.order = make([]byte, 0, rounds*keys*Size)
	for range rounds {
		rng.Shuffle(keys, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			s.order = appendKey(s.order, id)
		}
	}
	return s, nil
}

// Zipf draws each ask by Zipf's law with s = 1.1: of a million keys the first is
// asked for in an eighth of all cases.
func Zipf(name string, keys, asks int) (*Set, error) {
	if keys < 1 {
		return nil, errNoKeys
	}
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, skew, 1, uint64(keys-1))
	s := &Set{Name: name, Keys: keys, order: make([]byte, 0, asks*Size)}
	for range asks {
		s.order = appendKey(s.order, uint32(zipf.Uint64()))
	}
	return s, nil
}

var errNoKeys = errors.New("key set: it needs at least 1 key")

// Len is the number of asks before the order begins again.
func (s *Set) Len() int { return len(s.order) / Size }

// At is the i-th ask, 0 ≤ i < Len. The string shares the buffer of the set: a
// table that is given a key for the first time gets one from Each.
func (s *Set) At(i int) string { return unsafe.String(&s.order[i*Size], Size) }

// Each yields every key once, in an order that has nothing to do with that of
// the asks, each a string of its own as a request would bring it.
func (s *Set) Each() iter.Seq[string] { return Range(0, s.Keys) }

// Range yields n keys as Each does, from the one with the number from on; a Set has
// those from 0 on. All numbers are below 2³², and no two have the same key.
func Range(from, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := from; id < from+n; id++ {
			if !yield(string(appendKey(make([]byte, 0, Size), uint32(id)))) {
				return
			}
		}
	}
}

// appendKey writes the address of an id: different for different ids, and spread
// over all four bytes.
func appendKey(b []byte, id uint32) []byte {
	a := id * 2_654_435_761 // odd, so that no two ids meet
	for shift := 24; shift >= 0; shift -= 8 {
		n := byte(a >> shift)
		b = append(b, '0'+n/100, '0'+n/10%10, '0'+n%10)
		if shift > 0 {
			b = append(b, '.')
		}
	}
	return b
}
