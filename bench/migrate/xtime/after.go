package xtime

import (
	"context"
	"errors"
	"net/http"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// callers is the same limit with weir: the store is bounded, and forgets by
// itself whoever has nothing left to remember.
type callers struct {
	limiter *weir.Limiter
}

func newCallers() (*callers, error) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	limit, err := weir.ParseLimit("visitors", "10/s burst 20")
	if err != nil {
		return nil, err
	}
	limiter, err := weir.New(store, limit)
	return &callers{limiter}, err
}

func (c *callers) allow(ctx context.Context, caller string) (bool, error) {
	return c.limiter.Allow(ctx, weir.Text("user", caller))
}

// handler needs no code of its own: the address is found, the answer is written
// and tells when to come back.
func handler(next http.Handler) (http.Handler, error) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	m, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "visitors", Limits: []string{"10/s burst 20"}}},
	})
	if err != nil {
		return nil, err
	}
	return m.Handler(next), nil
}

// upload takes as many units as the request is worth, gives them back when
// nothing came of it, and knows how long to wait.
func (c *callers) upload(ctx context.Context, caller string, units int64, work func() error) error {
	var o weir.Outcome
	if err := c.limiter.Take(ctx, &o, units, weir.Text("user", caller)); err != nil {
		return err
	}
	if !o.Allowed {
		return &retryError{o.RetryAfter}
	}
	if err := work(); err != nil {
		return errors.Join(err, c.limiter.Refund(ctx, &o))
	}
	return nil
}

// work waits for its turn, under the limit of its caller.
func (c *callers) work(ctx context.Context, caller string, units int64, do func() error) error {
	var o weir.Outcome
	if err := c.limiter.Wait(ctx, &o, units, weir.Text("user", caller)); err != nil {
		return err
	}
	return do()
}
