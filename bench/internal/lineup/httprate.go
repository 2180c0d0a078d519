package lineup

import (
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

// httprateCounter asks httprate's counter as its limiter does, without the lock
// that the limiter holds meanwhile: it decides in two steps, between which others
// pass, so that more may pass than the quota.
func httprateCounter(q Quota, _ int) (*Limiter, error) {
	counter := httprate.NewLocalLimitCounter(q.Per)
	begin := time.Now().UTC()
	offset := begin.Sub(begin.Truncate(q.Per)) // as its limiter does: windows begin with it
	return asks(func(key string) Verdict {
		now := time.Now().UTC()
		window := now.Add(-offset).Truncate(q.Per).Add(offset)
		current, previous, err := counter.Get(key, window, window.Add(-q.Per))
		if err != nil {
			return Failed
		}
		left := float64(q.Per-now.Sub(window)) / float64(q.Per)
		if int64(float64(previous)*left+0.5)+int64(current) >= q.Count {
			return Refused
		}
		if err := counter.IncrementBy(key, window, 1); err != nil {
			return Failed
		}
		return Allowed
	}), nil
}

// httprateOnLimit is the decision of its middleware, with the response fields
// turned off by the option that its page gives for that.
func httprateOnLimit(q Quota, _ int) (*Limiter, error) {
	l := httprate.NewRateLimiter(int(q.Count), q.Per, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	return &Limiter{Ask: func() Ask {
		w, r := nowhere{}, &http.Request{Method: http.MethodGet}
		return func(key string) Verdict { return verdict(!l.OnLimit(w, r, key)) }
	}}, nil
}

// nowhere is a response that nobody reads.
type nowhere struct{}

// Header is a new header: no field is ever set.
func (nowhere) Header() http.Header { return http.Header{} }

// Write drops what it is given.
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader drops the status.
func (nowhere) WriteHeader(int) {}
