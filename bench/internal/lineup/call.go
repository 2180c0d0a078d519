package lineup

import (
	"context"

	"github.com/weirhq/weir"
)

// A MultiAsk decides for several keys. It belongs to one goroutine.
type MultiAsk func(keys []string) Verdict

// A Call is a way to ask weir for several takes, and what it is measured by.
type Call struct {
	// Name is how tables call it.
	Name string
	// Keys is how many keys it is asked for at a time.
	Keys int
	// Beside is the call that it is compared with, and AtMost what it may cost
	// of it; the calls that others are compared with have neither.
	Beside string
	AtMost float64
	// New makes it, with room for that many keys.
	New func(q Quota, keys int) (*MultiLimiter, error)
}

// A MultiLimiter is a Call at work. Ask, Fill, Check and Close are those of a
// Limiter.
type MultiLimiter struct {
	Ask   func() MultiAsk
	Fill  Ask
	Check func(keys int) error
	Close func()
}

// The calls that others are compared with.
const (
	OneTake     = "one take"             // of the two limits
	SingleTakes = "16 takes, one by one" // of the batch
)

// batch is the most takes that one call of a store may hold.
const batch = weir.MaxTakes

// Calls lists the calls of several takes, after what they are compared with.
func Calls() []Call {
	return []Call{
		{Name: OneTake, Keys: 1, New: oneByOne(1)},
		{Name: "2 limits on one key, Allow", Keys: 1, Beside: OneTake, AtMost: 1.3, New: twoLimitsAllow},
		{Name: "2 limits on one key, Take", Keys: 1, Beside: OneTake, AtMost: 1.3, New: twoLimits(1)},
		{Name: "2 limits on 2 keys, Take", Keys: 2, Beside: OneTake, AtMost: 1.8, New: twoLimits(2)},
		{Name: SingleTakes, Keys: batch, New: oneByOne(batch)},
		{Name: "16 keys in one Take, Alone", Keys: batch, Beside: SingleTakes, AtMost: 0.6, New: together},
	}
}

// multi is a MultiLimiter over n limits, asked by what ask makes.
func multi(q Quota, keys, n int, ask func(*shop) (func() MultiAsk, error)) (*MultiLimiter, error) {
	s, err := newShop(q, keys, n)
	if err != nil {
		return nil, err
	}
	asks, err := ask(s)
	l := s.limiter()
	return &MultiLimiter{Ask: asks, Fill: l.Fill, Check: l.Check, Close: l.Close}, err
}

type newMulti = func(Quota, int) (*MultiLimiter, error)

// oneByOne makes as many calls of the store as there are keys.
func oneByOne(n int) newMulti {
	return func(q Quota, keys int) (*MultiLimiter, error) {
		return multi(q, keys, 1, func(s *shop) (func() MultiAsk, error) {
			return func() MultiAsk {
				c := s.call(1)
				return func(keys []string) Verdict {
					all := Allowed
					for _, key := range keys[:n] {
						c.set(0, s.limits[0], key)
						if v := c.take(); v != Allowed {
							all = v
						}
					}
					return all
				}
			}, nil
		})
	}
}

// twoLimits asks two limits in one call: on one key, or each on one of its own.
func twoLimits(n int) newMulti {
	return func(q Quota, keys int) (*MultiLimiter, error) {
		return multi(q, keys, 2, func(s *shop) (func() MultiAsk, error) {
			return func() MultiAsk {
				c := s.call(2)
				return func(keys []string) Verdict {
					c.set(0, s.limits[0], keys[0])
					if n == 2 {
						c.set(1, s.limits[1], keys[1])
					} else {
						c.takes[1] = c.takes[0] // one key is made once
						c.takes[1].Limit = s.limits[1]
					}
					return c.take()
				}
			}, nil
		})
	}
}

// twoLimitsAllow asks two limits on one key as a program does.
func twoLimitsAllow(q Quota, keys int) (*MultiLimiter, error) {
	return multi(q, keys, 2, func(s *shop) (func() MultiAsk, error) {
		l, err := weir.New(s.store, s.limits...)
		if err != nil {
			return nil, err
		}
		ctx := context.Background()
		return func() MultiAsk {
			return func(keys []string) Verdict {
				allowed, err := l.Allow(ctx, weir.Text(kind, keys[0]))
				if err != nil {
					return Failed
				}
				return verdict(allowed)
			}
		}, nil
	})
}

// together asks one limit for 16 keys in one call, each judged by itself.
func together(q Quota, keys int) (*MultiLimiter, error) {
	return multi(q, keys, 1, func(s *shop) (func() MultiAsk, error) {
		return func() MultiAsk {
			c := s.call(batch)
			for i := range c.takes {
				c.takes[i].Join = weir.Alone
			}
			return func(keys []string) Verdict {
				for i, key := range keys[:batch] {
					c.set(i, s.limits[0], key)
				}
				verdict := c.take()
				for i := range c.out {
					if !c.out[i].Allowed {
						return Refused // a call without an All take is always allowed
					}
				}
				return verdict
			}
		}, nil
	})
}
