package lineup

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
	"golang.org/x/time/rate"
)

// bucket makes one limiter of x/time/rate.
func bucket(q Quota) *rate.Limiter { return rate.NewLimiter(rate.Limit(q.perSecond()), int(q.Burst)) }

// asks is the Limiter of a function that any goroutine may call.
func asks(ask Ask) *Limiter { return &Limiter{Ask: func() Ask { return ask }} }

// xtimeMutex is what most programs do: a map of limiters behind a mutex.
func xtimeMutex(q Quota, _ int) (*Limiter, error) {
	var mu sync.Mutex
	limiters := map[string]*rate.Limiter{}
	return asks(func(key string) Verdict {
		mu.Lock()
		l, ok := limiters[key]
		if !ok {
			l = bucket(q)
			limiters[key] = l
		}
		mu.Unlock()
		return verdict(l.Allow())
	}), nil
}

func xtimeRWMutex(q Quota, _ int) (*Limiter, error) {
	var mu sync.RWMutex
	limiters := map[string]*rate.Limiter{}
	add := func(key string) *rate.Limiter {
		mu.Lock()
		defer mu.Unlock()
		l, ok := limiters[key]
		if !ok {
			l = bucket(q)
			limiters[key] = l
		}
		return l
	}
	return asks(func(key string) Verdict {
		mu.RLock()
		l, ok := limiters[key]
		mu.RUnlock()
		if !ok {
			l = add(key)
		}
		return verdict(l.Allow())
	}), nil
}

func xtimeSyncMap(q Quota, _ int) (*Limiter, error) {
	var limiters sync.Map
	return asks(func(key string) Verdict {
		found, ok := limiters.Load(key)
		if !ok {
			found, _ = limiters.LoadOrStore(key, bucket(q))
		}
		l, _ := found.(*rate.Limiter)
		return verdict(l.Allow())
	}), nil
}

func xtimeXsync(q Quota, _ int) (*Limiter, error) {
	limiters := xsync.NewMap[string, *rate.Limiter]()
	return asks(func(key string) Verdict {
		l, ok := limiters.Load(key)
		if !ok {
			l, _ = limiters.LoadOrStore(key, bucket(q))
		}
		return verdict(l.Allow())
	}), nil
}

func xtimeSingle(q Quota, _ int) (*Limiter, error) {
	l := bucket(q)
	return asks(func(string) Verdict { return verdict(l.Allow()) }), nil
}
