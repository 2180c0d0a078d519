package lineup

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/expect"
	"github.com/weirhq/weir/memstore"
)

const module = "github.com/weirhq/weir"

func weirs() []Contender {
	return []Contender{
		{Name: "weir Allow", Module: module, Kind: Weir, Algorithm: TokenBucket, Bounded: true, New: weirAllow, Aging: aging(weirAllow), Forgets: frees},
		{Name: "weir Take", Module: module, Kind: Weir, Algorithm: TokenBucket, Bounded: true, New: weirTake, Aging: aging(weirTake), Forgets: frees},
	}
}

// frees is how weir forgets.
const frees = "each new key frees dead ones where it looks for room"

// kind is that of the keys' one part.
const kind = "user"

// weirAllow asks as a program does: the limiter makes the key of its part.
func weirAllow(q Quota, keys int) (*Limiter, error) {
	s, err := newShop(q, keys, 1)
	if err != nil {
		return nil, err
	}
	l, err := weir.New(s.store, s.limits...)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	limiter := s.limiter()
	limiter.Ask = func() Ask {
		return func(key string) Verdict {
			allowed, err := l.Allow(ctx, weir.Text(kind, key))
			if err != nil {
				return Failed
			}
			return verdict(allowed)
		}
	}
	return limiter, nil
}

// weirTake asks the store itself, as surfaces do that keep their own slices. The
// key is made anew for each ask.
func weirTake(q Quota, keys int) (*Limiter, error) {
	s, err := newShop(q, keys, 1)
	if err != nil {
		return nil, err
	}
	limiter := s.limiter()
	limiter.Ask = func() Ask {
		c := s.call(1)
		return func(key string) Verdict {
			c.set(0, s.limits[0], key)
			return c.take()
		}
	}
	return limiter, nil
}

// shop is a store with its limits.
type shop struct {
	store  *memstore.Store
	keyer  weir.Keyer
	limits []*weir.Limit
	debt   int64 // what a key is charged before anything is measured
}

// newShop makes a store with room for so many keys under each of n limits.
func newShop(q Quota, keys, n int) (*shop, error) {
	s := &shop{debt: max(1, q.Burst/10*9)}
	for i := range n {
		l, err := weir.NewLimit(fmt.Sprint("bench", i), weir.Spec{Count: q.Count, Period: q.Per, Burst: q.Burst})
		if err != nil {
			return nil, err
		}
		s.limits = append(s.limits, l)
	}
	// An eighth of MaxKeys is for overflow cells. The rest has a sixth to spare,
	// since keys do not fall evenly on a store's parts.
	store, err := memstore.New(memstore.Config{MaxKeys: max(4096, n*keys/3*4)})
	if err != nil {
		return nil, err
	}
	s.store, s.keyer = store, store.Keyer()
	return s, expect.Limits(store, s.limits...)
}

// limiter is a Limiter without its Ask.
//
// A key whose bucket is full says nothing, so that weir may drop it. Fill puts
// each in debt by nine tenths of its burst: the whole table stays worth its room.
func (s *shop) limiter() *Limiter {
	c := s.call(len(s.limits))
	return &Limiter{
		Fill: func(key string) Verdict {
			for i, l := range s.limits {
				c.set(i, l, key)
				c.takes[i].Cost = s.debt
			}
			return c.take()
		},
		Check: s.check,
		Room:  s.store.Stats().MaxKeys,
		Count: func() (held, freed int) {
			stats := s.store.Stats()
			return stats.Keys, int(stats.Evicted)
		},
		Close: func() { _ = s.store.Close() }, // it never fails
	}
}

// check sees that every key has an entry of its own.
func (s *shop) check(keys int) error {
	stats := s.store.Stats()
	for name, r := range stats.Rules {
		if r.Overflow > 0 {
			return fmt.Errorf("weir: %d keys of %s share cells: the store is too small", r.Overflow, name)
		}
	}
	if want := keys * len(s.limits); stats.Keys != want {
		return fmt.Errorf("weir: %d entries for %d keys", stats.Keys, want)
	}
	return nil
}

// call is the room of one goroutine for calls of the store.
type call struct {
	*shop
	takes []weir.Take
	out   []weir.Decision
}

func (s *shop) call(n int) *call {
	return &call{s, make([]weir.Take, n), make([]weir.Decision, n)}
}

// set makes the i-th take one unit of a limit for a key.
func (c *call) set(i int, l *weir.Limit, key string) {
	t := &c.takes[i]
	t.Limit, t.Cost = l, 1
	t.Key, t.Tag = c.keyer.Key(weir.Text(kind, key))
}

func (c *call) take() Verdict {
	allowed, _, err := c.store.Take(context.Background(), c.takes, c.out)
	if err != nil {
		return Failed
	}
	return verdict(allowed)
}
