package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func zz(t *testing.T, keys int, now *weir.Micros) (*Store, *Store) {
	c := Config{MaxKeys: keys, Now: func() weir.Micros { return *now }}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := New(c)
	return a, b
}

func TestZZPenaltyDirect(t *testing.T) {
	now := weir.Micros(1_796_000_000_000_000)
	s, l := zz(t, 64, &now)
	lim := weir.MustLimit("p", "3/s block 2s")
	if err := errors.Join(s.Expect(lim), l.Expect(lim)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		takes := []weir.Take{{Limit: lim.Penalty(), Key: weir.Key{1}, Cost: 1}}
		a, b := make([]weir.Decision, 1), make([]weir.Decision, 1)
		_, _, err := s.Take(context.Background(), takes, a)
		_, _, err2 := l.takeLong(takes, b)
		if fmt.Sprint(err) != fmt.Sprint(err2) || a[0] != b[0] || s.Stats().Keys != l.Stats().Keys {
			t.Errorf("%d: %v %+v keys %d\nwant %v %+v keys %d", i, err, a, s.Stats().Keys, err2, b, l.Stats().Keys)
		}
	}
}

func TestZZStaleTogetherWritesOut(t *testing.T) {
	now := weir.Micros(1_796_000_000_000_000)
	s, l := zz(t, 64, &now)
	a1, cal := weir.MustLimit("a", "3/s"), weir.MustLimit("c", "9/day calendar UTC")
	e := &weir.Edges{now - 2, now - 1, now + 1, now + 2}
	takes := []weir.Take{{Limit: a1, Key: weir.Key{1}, Cost: 1}, {Limit: cal, Key: weir.Key{1}, Cost: 1, Edges: e}}
	a, b := make([]weir.Decision, 2), make([]weir.Decision, 2)
	for range 2 {
		clear(a)
		clear(b)
		_, st, err := s.Take(context.Background(), takes, a)
		_, now2, err2 := l.takeLong(takes, b)
		if fmt.Sprint(err) != fmt.Sprint(err2) || a[0] != b[0] || a[1] != b[1] || st.Now != now2 {
			t.Errorf("%v %+v\nwant %v %+v", err, a, err2, b)
		}
		takes[1].Edges = nil
	}
}

func TestZZForgotten(t *testing.T) {
	now := weir.Micros(1_796_000_000_000_000)
	s, l := zz(t, 64, &now)
	g := weir.MustLimit("guest", "3/day")
	takes := []weir.Take{{Limit: g, Key: weir.Key{1}, Cost: 1}}
	a, b := make([]weir.Decision, 1), make([]weir.Decision, 1)
	s.Take(context.Background(), takes, a)
	l.takeLong(takes, b)
	var set []*weir.Limit
	for i := range 8 {
		set = append(set, weir.MustLimit(fmt.Sprint("x", i), "3/s"))
	}
	if err := errors.Join(s.ExpectOnly(nil, set...), l.ExpectOnly(nil, set...)); err != nil {
		t.Fatal(err)
	}
	ok, _, err := s.Take(context.Background(), takes, a)
	ok2, _, err2 := l.takeLong(takes, b)
	if fmt.Sprint(err) != fmt.Sprint(err2) {
		t.Errorf("%t %v %+v\nwant %t %v %+v", ok, err, a, ok2, err2, b)
	}
	takes[0].Key = weir.Key{2}
	_, _, err = s.Take(context.Background(), takes, a)
	t.Log("new key:", err)
}

func TestZZPanicOfClock(t *testing.T) {
	boom := false
	s, err := New(Config{MaxKeys: 64, Now: func() weir.Micros {
		if boom {
			panic("clock")
		}
		return 1_796_000_000_000_000
	}})
	if err != nil {
		t.Fatal(err)
	}
	takes := []weir.Take{{Limit: weir.MustLimit("a", "3/s"), Key: weir.Key{1}, Cost: 1}}
	out := make([]weir.Decision, 1)
	s.Take(context.Background(), takes, out)
	boom = true
	func() {
		defer func() { t.Log(recover()) }()
		s.Take(context.Background(), takes, out)
	}()
	boom = false
	done := make(chan bool)
	go func() { s.Take(context.Background(), takes, out); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Error("the shard stays locked")
	}
}
