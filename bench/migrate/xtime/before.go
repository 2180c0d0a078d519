package xtime

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// visitors is what many programs write around x/time/rate to limit by caller.
type visitors struct {
	mu   sync.Mutex
	seen map[string]*visitor
}

type visitor struct {
	limiter *rate.Limiter
	last    time.Time
}

func (v *visitors) allow(caller string) bool {
	v.mu.Lock()
	found, ok := v.seen[caller]
	if !ok {
		found = &visitor{limiter: rate.NewLimiter(10, 20)}
		v.seen[caller] = found
	}
	found.last = time.Now()
	v.mu.Unlock()
	return found.limiter.Allow()
}

// forget runs every minute.
func (v *visitors) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for caller, found := range v.seen {
		if time.Since(found.last) > 3*time.Minute {
			delete(v.seen, caller)
		}
	}
}

func (v *visitors) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, _, _ := net.SplitHostPort(r.RemoteAddr)
		if !v.allow(caller) {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// work waits for its turn.
func work(ctx context.Context, limiter *rate.Limiter, units int, do func() error) error {
	if err := limiter.WaitN(ctx, units); err != nil {
		return err
	}
	return do()
}
