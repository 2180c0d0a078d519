package metrics

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/fault"
	"github.com/weirhq/weir/internal/expect"
)

// Timed measures how long a Decider takes.
func (m *Metrics) Timed(d weir.Decider) weir.Decider { return &timedDecider{d, m} }

type timedDecider struct {
	weir.Decider
	metrics *Metrics
}

func (d *timedDecider) Decide(ctx context.Context, r *weir.Request, o *weir.Outcome) {
	begin := d.metrics.config.Elapsed()
	d.Decider.Decide(ctx, r, o)
	d.metrics.decisionTimes.Observe(since(begin, d.metrics.config.Elapsed()))
}

// Store counts the errors of a store, all of them, and measures how long its
// takes last, one in 16 chosen at random: to read the clock twice would cost a
// store in memory a good part of its own time. Expectations are passed on.
func (m *Metrics) Store(s weir.Store) weir.Store { return &timedStore{s, m} }

type timedStore struct {
	weir.Store
	metrics *Metrics
}

func (s *timedStore) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	if !s.metrics.sampled() {
		ok, stamp, err := s.Store.Take(ctx, takes, out)
		s.count(err)
		return ok, stamp, err
	}
	begin := s.metrics.config.Elapsed()
	ok, stamp, err := s.Store.Take(ctx, takes, out)
	s.metrics.storeTimes.Observe(since(begin, s.metrics.config.Elapsed()))
	s.count(err)
	return ok, stamp, err
}

func (s *timedStore) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	stamp, err := s.Store.Return(ctx, returns)
	s.count(err)
	return stamp, err
}

func (s *timedStore) Reset(ctx context.Context, l *weir.Limit, k weir.Key) error {
	err := s.Store.Reset(ctx, l, k)
	s.count(err)
	return err
}

// Expect is what a store has that wants to know its limits.
func (s *timedStore) Expect(limits ...*weir.Limit) error { return expect.Limits(s.Store, limits...) }

// ExpectOnly is what a store has that can be told anew.
func (s *timedStore) ExpectOnly(reserved map[string]int, limits ...*weir.Limit) error {
	return expect.Only(s.Store, reserved, limits...)
}

func (s *timedStore) count(err error) {
	if err != nil && !errors.Is(err, weir.ErrLost) { // which is an answer
		s.metrics.storeErrors[fault.Of(err)].Add(1)
	}
}

// since is a span in seconds. A clock that was set back has taken no time.
func since(begin, end time.Duration) float64 { return max(0, end-begin).Seconds() }

func oneInSixteen() bool { return rand.Uint32()%16 == 0 }
