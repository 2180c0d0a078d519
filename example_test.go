package weir_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// A limiter asks all its limits for the same key. The store's clock stands
// still here, so that the example always says the same.
func ExampleLimiter_Allow() {
	now := weir.Micros(1_796_040_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store, weir.MustLimit("jobs", "5/s burst 2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	allow := func() {
		ok, err := limiter.Allow(context.Background(), weir.Text("user", "42"))
		fmt.Println(ok, err)
	}
	allow()
	allow()
	allow()
	now += 200_000 // a fifth of a second: one unit has come back
	allow()
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// true <nil>
}

// An Outcome says which limit decided, how much is left and exactly when to
// come back. It can be used again.
func ExampleLimiter_Take() {
	now := weir.Micros(1_796_040_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store,
		weir.MustLimit("upload/1s", "100/s"),
		weir.MustLimit("upload/1d", "1000/day fixed-window"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	caller := weir.Addr(netip.MustParseAddr("203.0.113.7"))
	var o weir.Outcome
	for _, size := range []int64{60, 60, 101} {
		if err := limiter.Take(context.Background(), &o, size, caller); err != nil {
			fmt.Println(err)
			return
		}
		wait := time.Duration(o.RetryAfter) * time.Microsecond
		fmt.Printf("%d: %v by %s, %d left, wait %v, never %v\n", size, o.Allowed, o.Limit().Name(), o.Decision().Remaining, wait, o.Never)
	}
	// Output:
	// 60: true by upload/1s, 40 left, wait 0s, never false
	// 60: false by upload/1s, 40 left, wait 200ms, never false
	// 101: false by upload/1s, 40 left, wait 0s, never true
}

// Limits under different keys are charged in one step, all or none: here each
// user of a tenant has a limit, and all of them together have one.
func ExampleLimiter_TakeAll() {
	now := weir.Micros(1_796_040_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store)
	if err != nil {
		fmt.Println(err)
		return
	}
	perUser := weir.MustLimit("user", "2/min")
	perTenant := weir.MustLimit("tenant", "3/min")

	var o weir.Outcome
	for _, name := range []string{"ann", "ann", "ann", "bob", "bob"} {
		tenant, tag := limiter.Key(weir.Text("tenant", "acme"))
		user, _ := limiter.Key(weir.Text("tenant", "acme"), weir.Text("user", name))
		err := limiter.TakeAll(context.Background(), &o,
			weir.Take{Limit: perUser, Key: user, Tag: tag, Cost: 1},
			weir.Take{Limit: perTenant, Key: tenant, Tag: tag, Cost: 1},
		)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, o.Allowed, o.Limit().Name())
	}
	// Output:
	// ann true user
	// ann true user
	// ann false user
	// bob true tenant
	// bob false tenant
}

// Work that was let in and then not done gives its units back, once.
func ExampleLimiter_Refund() {
	now := weir.Micros(1_796_040_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store, weir.MustLimit("mail", "10/h"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, user := context.Background(), weir.Text("user", "42")
	var charge, look weir.Outcome
	left := func(when string) {
		if err := limiter.Peek(ctx, &look, 0, user); err != nil {
			fmt.Println(err)
		}
		fmt.Println(when, look.Decision().Remaining)
	}
	if err := limiter.Take(ctx, &charge, 4, user); err != nil {
		fmt.Println(err)
	}
	left("taken:")
	for range 2 {
		if err := limiter.Refund(ctx, &charge); err != nil {
			fmt.Println(err)
		}
		left("refunded:")
	}
	// Output:
	// taken: 6
	// refunded: 10
	// refunded: 10
}

// Work that can be cut to measure takes what there is.
func ExampleLimiter_TakeAtMost() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store,
		weir.MustLimit("rows/1m", "500/min fixed-window"),
		weir.MustLimit("rows/1d", "800/day fixed-window"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	var o weir.Outcome
	for range 2 {
		rows, err := limiter.TakeAtMost(context.Background(), &o, 400, weir.Text("user", "42"))
		fmt.Println(rows, o.Limit().Name(), err)
	}
	// Output:
	// 400 rows/1m <nil>
	// 100 rows/1m <nil>
}

// Wait sleeps until there is room, and does not begin to where there will be none in
// time.
func ExampleLimiter_Wait() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store, weir.MustLimit("mail", "100/s burst 1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var o weir.Outcome
	for range 3 {
		fmt.Println(limiter.Wait(ctx, &o, 1))
	}
	fmt.Println(limiter.Wait(ctx, &o, 2))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// weir: cost 2: limit mail (100/s burst 1) never has room for more than 1
}

// A cost that is known when the work is done is estimated first. Here the estimate is
// too low, and more is used than there was: nothing passes until that is paid.
func ExampleLimiter_Reserve() {
	now := weir.Micros(1_796_040_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store, weir.MustLimit("tokens", "1000/min overdraft 1500"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, user := context.Background(), weir.Text("user", "42")
	var o weir.Outcome
	r, err := limiter.Reserve(ctx, &o, 400, user)
	if err != nil || !o.Allowed {
		fmt.Println(o.RetryAfter, err)
		return
	}
	defer r.Cancel(ctx) // does nothing once it is settled
	fmt.Println("reserved:", o.Decision().Remaining, "left")

	forgiven, err := r.Settle(ctx, 1800)
	fmt.Println("settled:", forgiven, "forgiven", err)
	if err := limiter.Take(ctx, &o, 1, user); err != nil {
		fmt.Println(err)
	}
	fmt.Println(o.Allowed, o.RetryAfter.Duration())
	// Output:
	// reserved: 600 left
	// settled: 300 forgiven <nil>
	// false 30.06s
}

// A concurrency limit says how many may be at work at once. Who has a slot keeps it
// until he releases it.
func ExampleLimiter_Acquire() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := weir.New(store, weir.MustLimit("reports", "1 concurrent"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, user := context.Background(), weir.Text("user", "42")
	report := func(work func()) {
		var o weir.Outcome
		slots, err := limiter.Acquire(ctx, &o, 1, user)
		if err != nil || !o.Allowed {
			fmt.Println("one at a time", err)
			return
		}
		defer slots.Release(ctx) // also where work panics
		work()
	}
	report(func() {
		fmt.Println("at work")
		report(func() { fmt.Println("not reached") })
	})
	report(func() { fmt.Println("at work again") })
	// Output:
	// at work
	// one at a time <nil>
	// at work again
}

// A limit's text has one printed form.
func ExampleParseSpec() {
	for _, text := range []string{
		"5 per 1s burst 5",
		"10000 per 720h",
		"30/day spread fixed-window",
		"1000/month calendar Europe/Berlin",
	} {
		spec, err := weir.ParseSpec(text)
		fmt.Println(spec, err)
	}
	// Output:
	// 5/s <nil>
	// 10000 per 30d <nil>
	// 30/day fixed-window spread <nil>
	// 1000/month calendar Europe/Berlin <nil>
}

// Every mistake is reported, with its place in the text.
func ExampleFieldError() {
	text := "0/m bust 5"
	_, err := weir.ParseSpec(text)
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		if refusal, ok := errors.AsType[*weir.FieldError](err); ok {
			fmt.Printf("%q at %d: %s\n", refusal.Value, refusal.Offset, refusal.Problem)
		}
	}
	// Output:
	// "0" at 0: a limit admits at least 1
	// "m" at 2: minutes or months?
	// "bust" at 4: unknown word
}
