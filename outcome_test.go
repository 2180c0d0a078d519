package weir

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

// A field that Reset forgets would be told of the next decision.
func TestResetForgetsNoField(t *testing.T) {
	l := MustLimit("api", "5/s")
	o := Outcome{
		Allowed: true, Cause: ByFault, Binding: 1, RetryAfter: 1, Never: true, Delay: 1,
		Stamp: Stamp{Now: 1, Epoch: 1}, Takes: []Take{{Limit: l}}, Decisions: []Decision{{Allowed: true}}, Err: errors.New("any"),
		Rule: "api", Refusal: &Refusal{Status: 403}, Untold: 1,
		spent: true, released: true, slots: &Slots{}, returns: []Return{{Limit: l}},
	}
	each := func(visit func(name string, f reflect.Value)) {
		v := reflect.ValueOf(o)
		for i := range v.NumField() {
			visit(v.Type().Field(i).Name, v.Field(i))
		}
	}
	each(func(name string, f reflect.Value) {
		if f.IsZero() {
			t.Errorf("the test leaves %s out", name)
		}
	})
	returns := o.returns
	o.Reset()
	if o.Binding != -1 || returns[0].Limit != nil {
		t.Errorf("%+v, and what was given back is %+v", o, returns)
	}
	o.Binding = 0
	each(func(name string, f reflect.Value) {
		if f.Kind() == reflect.Slice && f.Len() > 0 || f.Kind() != reflect.Slice && !f.IsZero() {
			t.Errorf("%s is left", name)
		}
	})
}

// Who asks again until it passes, or never will, is told so by a limit of deny as well.
func TestDenyIsNever(t *testing.T) {
	o := new(Outcome)
	for cause, want := range map[Cause]bool{ByDeny: true, ByFault: false, ByMissing: false, ByRequest: false} {
		if o.Refuse(cause, nil); o.Never != want || o.Allowed {
			t.Errorf("%s: never %t, want %t", cause, o.Never, want)
		}
	}
	if o.Pass(); o.Never {
		t.Error("what passes never passes")
	}
}

// Who cannot be kept waiting is refused for as long, by the limit that would have
// kept him longest.
func TestRefuseDelay(t *testing.T) {
	queue, other := MustLimit("queue/1s", "5/s leaky-bucket queue 9"), MustLimit("other", "5/s")
	longer := MustLimit("longer", "1/s leaky-bucket queue 9")
	spent := Receipt{Cost: 1}
	o := &Outcome{
		Allowed: true, Binding: 1, Delay: 700, Rule: "other",
		Takes: []Take{{Limit: queue}, {Limit: other}, {Limit: longer}, {Limit: longer, Join: Advise}},
		Decisions: []Decision{
			{Allowed: true, Granted: 1, Remaining: 3, Delay: 200, Receipt: spent},
			{Allowed: true, Granted: 1, Remaining: 1, Receipt: spent},
			{Allowed: true, Granted: 1, Remaining: 5, Delay: 700, Receipt: spent},
			{Allowed: true, Granted: 1, Remaining: 2, Delay: 900, Receipt: spent},
		},
	}
	o.RefuseDelay()
	want := []Decision{
		{RetryAfter: 200, Receipt: spent},
		{Allowed: true, Remaining: 1, Receipt: spent},
		{RetryAfter: 700, Receipt: spent},
		{Allowed: true, Remaining: 2, Delay: 900, Receipt: spent},
	}
	if o.Allowed || o.Cause != ByLimits || o.Limit() != longer || o.Rule != "longer" || o.RetryAfter != 700 || o.Delay != 0 || o.Never {
		t.Errorf("got %+v", o)
	}
	if !slices.Equal(o.Decisions, want) {
		t.Errorf("got  %+v\nwant %+v", o.Decisions, want)
	}
	hidden := &Outcome{
		Allowed: true, Binding: 1, Delay: 700, Rule: "longer", Untold: 3,
		Takes: []Take{{Limit: longer}, {Limit: other}, {Limit: longer, Join: Advise}, {Limit: queue}, {Limit: other}},
		Decisions: []Decision{
			{Allowed: true, Remaining: 5, Delay: 700},
			{Allowed: true, Remaining: 1},
			{Allowed: true, Remaining: 2, Delay: 900},
			{Allowed: true, Remaining: 3, Delay: 200},
			{Allowed: true, Remaining: 4},
		},
	}
	hidden.RefuseDelay()
	want = []Decision{{Allowed: true, Remaining: 2, Delay: 900}, {RetryAfter: 200}, {Allowed: true, Remaining: 4}}
	if hidden.Limit() != queue || hidden.Rule != queue.Rule() || hidden.RetryAfter != 200 || len(hidden.Takes) != 3 || hidden.Untold != 0 || !slices.Equal(hidden.Decisions, want) {
		t.Errorf("what is not told: %+v", hidden)
	}
	passes := &Outcome{Allowed: true, Binding: 0, Takes: []Take{{Limit: other}}, Decisions: []Decision{{Allowed: true, Granted: 1}}}
	if passes.RefuseDelay(); !passes.Allowed || passes.Decisions[0].Granted != 1 {
		t.Errorf("one that does not wait: %+v", passes)
	}
}
