package lineup

import (
	"context"
	"time"

	golimiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ululelimiter "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

func goLimiter(q Quota, _ int) (*Limiter, error) {
	return goLimiterOf(memorystore.Config{Tokens: uint64(q.Count), Interval: q.Per})
}

// goLimiterAging keeps a key for as long as its limit needs it, which is as short as
// its page allows, and looks for dead ones after two lives.
func goLimiterAging(life time.Duration, _ int) (*Limiter, error) {
	return goLimiterOf(memorystore.Config{Tokens: 1, Interval: life, SweepInterval: 2 * life, SweepMinTTL: life})
}

func goLimiterOf(c memorystore.Config) (*Limiter, error) {
	s, err := memorystore.New(&c)
	if err != nil {
		return nil, err
	}
	l := asks(goLimiterAsk(s))
	l.Close = func() { _ = s.Close(context.Background()) } // it never fails
	return l, nil
}

func goLimiterAsk(s golimiter.Store) Ask {
	ctx := context.Background()
	return func(key string) Verdict {
		_, _, _, allowed, err := s.Take(ctx, key)
		if err != nil {
			return Failed
		}
		return verdict(allowed)
	}
}

func throttledMap(q Quota, _ int) (*Limiter, error) { return throttledOver(q, 0) }

// throttledLRU has room for all keys: what it costs to keep their order, without
// anybody being dropped.
func throttledLRU(q Quota, keys int) (*Limiter, error) { return throttledOver(q, keys) }

func throttledAging(life time.Duration, keys int) (*Limiter, error) {
	return throttledOver(One(life), keys)
}

func throttledOver(q Quota, room int) (*Limiter, error) {
	store, err := throttledstore.NewCtx(room)
	if err != nil {
		return nil, err
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate:  throttled.PerDuration(int(q.Count), q.Per),
		MaxBurst: int(q.Burst - 1), // beside the first
	})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	made := asks(func(key string) Verdict {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		if err != nil {
			return Failed
		}
		return verdict(!limited)
	})
	made.Room = room
	return made, nil
}

func ulule(q Quota, _ int) (*Limiter, error) { return ululeOver(memory.NewStore(), q) }

func ululeAging(life time.Duration, _ int) (*Limiter, error) {
	options := ululelimiter.StoreOptions{Prefix: ululelimiter.DefaultPrefix, CleanUpInterval: 2 * life}
	return ululeOver(memory.NewStoreWithOptions(options), One(life))
}

func ululeOver(store ululelimiter.Store, q Quota) (*Limiter, error) {
	l := ululelimiter.New(store, ululelimiter.Rate{Period: q.Per, Limit: q.Count})
	ctx := context.Background()
	return asks(func(key string) Verdict {
		found, err := l.Get(ctx, key)
		if err != nil {
			return Failed
		}
		return verdict(!found.Reached)
	}), nil
}
