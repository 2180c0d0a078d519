package lineup

import (
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"go.uber.org/ratelimit"
)

// uber has slack instead of a burst: what was not used may be used later, but
// nothing is there in the beginning.
func uber(q Quota, _ int) (*Limiter, error) {
	l := ratelimit.New(int(q.Count), ratelimit.Per(q.Per), ratelimit.WithSlack(int(q.Burst-1)))
	return asks(func(string) Verdict {
		l.Take()
		return Allowed
	}), nil
}

func failsafeSmooth(q Quota, _ int) (*Limiter, error) {
	l := ratelimiter.NewSmooth[any](uint(q.Count), q.Per)
	return asks(func(string) Verdict { return verdict(l.TryAcquirePermit()) }), nil
}

func failsafeBursty(q Quota, _ int) (*Limiter, error) {
	l := ratelimiter.NewBursty[any](uint(q.Count), q.Per)
	return asks(func(string) Verdict { return verdict(l.TryAcquirePermit()) }), nil
}
