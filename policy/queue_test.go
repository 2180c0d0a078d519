package policy_test

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// A leaky bucket's delay is part of what is decided, and of what is explained.
func TestLeakyBuckets(t *testing.T) {
	b := start(t, `
rules:
  - {name: wide, limit: 100/s}
  - {name: queue, limit: 10/s leaky-bucket wait 250ms, refuse: {status: 403, detail: call us}}
  - {name: tried, limit: 1/s leaky-bucket wait 9s, shadow: true}
`)
	for place := range weir.Micros(3) {
		x := b.Explain(t.Context(), request("GET /", peer))
		if x.DelayMS != int64(place)*100 || len(x.Rules) != 3 || x.Rules[1].Limits[0].DelayMS != int64(place)*100 || x.Rules[2].Limits[0].DelayMS != int64(place)*1000 {
			t.Errorf("explained %+v", x)
		}
		b.want("allowed limits", "GET /", peer)
		if b.last.Delay != place*100_000 || b.last.Rule != "queue" {
			t.Errorf("a delay of %d by %s, want %d", b.last.Delay, b.last.Rule, place*100_000)
		}
	}
	if r := b.last.Refusal; r == nil || r.Status != 403 {
		t.Errorf("who cannot be kept waiting is told %+v", r)
	}
	b.want("refused limits", "GET /", peer)
	if b.last.Delay != 0 || b.last.RetryAfter != 50_000 {
		t.Errorf("got %+v", b.last)
	}
	if x := b.Explain(t.Context(), request("GET /", peer)); x.DelayMS != 0 || x.Allowed || x.Rules[1].Limits[0].RetryAfterMS != 50 {
		t.Errorf("explained %+v", x)
	}
	b.SetSwitch(policy.Shadow)
	if b.want("allowed limits", "GET /", peer); b.last.Delay != 0 {
		t.Errorf("in shadow a delay of %d", b.last.Delay)
	}
}

// Who is let in and cannot be kept waiting gives his place back.
func TestAPlaceIsGivenBack(t *testing.T) {
	b := start(t, `
rules: [{name: queue, limit: 10/s leaky-bucket queue 1}]
`)
	b.want("allowed limits", "GET /", peer)
	for range 3 {
		o := new(weir.Outcome)
		b.Decide(t.Context(), request("GET /", peer), o)
		if !o.Allowed || o.Delay != 100_000 {
			t.Fatalf("got %+v", o)
		}
		if err := b.GiveBack(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if o.RefuseDelay(); o.Allowed || o.Rule != "queue" || o.Limit().Name() != "queue" || o.RetryAfter != 100_000 {
			t.Errorf("got %+v", o)
		}
	}
}
