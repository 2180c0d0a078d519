package lineup

import (
	"context"

	golimiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ululelimiter "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

func goLimiter(q Quota, _ int) (*Limiter, error) {
	s, err := memorystore.New(&memorystore.Config{Tokens: uint64(q.Count), Interval: q.Per})
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
	return asks(func(key string) Verdict {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		if err != nil {
			return Failed
		}
		return verdict(!limited)
	}), nil
}

func ulule(q Quota, _ int) (*Limiter, error) {
	l := ululelimiter.New(memory.NewStore(), ululelimiter.Rate{Period: q.Per, Limit: q.Count})
	ctx := context.Background()
	return asks(func(key string) Verdict {
		found, err := l.Get(ctx, key)
		if err != nil {
			return Failed
		}
		return verdict(!found.Reached)
	}), nil
}
