package weir

import (
	"errors"
	"reflect"
	"testing"
)

// A field that Reset forgets would be told of the next decision.
func TestResetForgetsNoField(t *testing.T) {
	l := MustLimit("api", "5/s")
	o := Outcome{
		Allowed: true, Cause: ByFault, Binding: 1, RetryAfter: 1, Never: true, Delay: 1,
		Stamp: Stamp{Now: 1, Epoch: 1}, Takes: []Take{{Limit: l}}, Decisions: []Decision{{Allowed: true}}, Err: errors.New("any"),
		Rule: "api", Refusal: &Refusal{Status: 403},
		spent: true, returns: []Return{{Limit: l}},
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
