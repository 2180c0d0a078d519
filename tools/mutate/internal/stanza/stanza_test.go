package stanza

import (
	"reflect"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	got, err := Read("t", "# a remark\n\nkey:  one: two \nwhy: first\n\tsecond\n# between\nkey: three\n\n\nkey: four\nwhy: x", "key", "why")
	want := []Stanza{
		{Line: 3, Fields: []Field{{"key", "one: two"}, {"why", "first second"}, {"key", "three"}}},
		{Line: 10, Fields: []Field{{"key", "four"}, {"why", "x"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read = %v, %v; want %v", got, err, want)
	}
	if got := want[0].Get("key"); got != "one: two" {
		t.Errorf("Get = %q", got)
	}
	if got := want[0].All("key"); !reflect.DeepEqual(got, []string{"one: two", "three"}) {
		t.Errorf("All = %q", got)
	}
	if want[0].Get("none") != "" || want[0].All("none") != nil {
		t.Error("there is a value for a key that is not there")
	}
}

func TestReadTellsAll(t *testing.T) {
	_, err := Read("t", "  nothing above\n\nkey: a\nother: b\nno colon\n\nwhy: c\nkey:\n", "key", "why")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`t:1: "nothing above": there is no value`,
		`t:4: "other: b": a line begins with one of key, why`,
		`t:5: "no colon"`,
		"t:3: why is missing",
		"t:7: key is missing",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("key: a\nwhy: b\n  c\n\n# x\nkey: d\nwhy: e")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Read("t", text, "key", "why")
		for _, s := range all {
			for _, field := range s.Fields {
				if field.Key != "key" && field.Key != "why" || strings.ContainsAny(field.Value, "\n") {
					t.Errorf("%+v of %q", field, text)
				}
			}
			if err == nil && (s.Get("key") == "" || s.Get("why") == "") {
				t.Errorf("%+v of %q lacks a value", s, text)
			}
		}
	})
}
