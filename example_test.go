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
