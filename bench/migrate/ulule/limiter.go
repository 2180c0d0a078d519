package ulule

import (
	"context"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// jobsBefore counts without HTTP.
func jobsBefore(ctx context.Context, user string, jobs []func()) (left int64, err error) {
	instance := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Hour, Limit: 3})
	for _, job := range jobs {
		found, err := instance.Get(ctx, user)
		if err != nil {
			return 0, err
		}
		if !found.Reached {
			job()
		}
	}
	found, err := instance.Peek(ctx, user)
	return found.Remaining, err
}

// jobsAfter is the same with weir.
func jobsAfter(ctx context.Context, user string, jobs []func()) (left int64, err error) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return 0, err
	}
	limiter, err := weir.New(store, weir.MustLimit("jobs", "3/h fixed-window"))
	if err != nil {
		return 0, err
	}
	for _, job := range jobs {
		ok, err := limiter.Allow(ctx, weir.Text("user", user))
		if err != nil {
			return 0, err
		}
		if ok {
			job()
		}
	}
	var o weir.Outcome
	err = limiter.Peek(ctx, &o, 0, weir.Text("user", user))
	return o.Decision().Remaining, err
}
