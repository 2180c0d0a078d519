package memstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
)

// penalized is a store whose clock is turned by hand, and a caller of it.
type penalized struct {
	*Store
	t   *testing.T
	now weir.Micros
}

func penalize(t *testing.T, c Config) *penalized {
	t.Helper()
	p := &penalized{t: t, now: 1_790_000_000_000_000}
	c.Now = func() weir.Micros { return p.now }
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Store = s
	return p
}

// ask takes one unit of a key, and sees that the books are right after it.
func (p *penalized) ask(l *weir.Limit, key string) weir.Decision {
	p.t.Helper()
	k, tag := p.Keyer().Key(weir.Text("user", key))
	out := make([]weir.Decision, 1)
	if _, _, err := p.Take(context.Background(), []weir.Take{{Limit: l, Key: k, Tag: tag, Cost: 1}}, out); err != nil {
		p.t.Fatal(err)
	}
	if err := (&crowd{Store: p.Store}).sound(); err != nil {
		p.t.Error(err)
	}
	return out[0]
}

// A penalty has an entry of its own for as long as it says something, and outlives the
// state of its limit.
func TestPenaltiesAreEntries(t *testing.T) {
	s, l := penalize(t, Config{}), weir.MustLimit("login", "2/s block 1h")
	if err := s.Expect(l); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 1, 2, 2} {
		if d := s.ask(l, "k"); d.Allowed != (i < 2) || s.Stats().Keys != want {
			t.Errorf("take %d: %+v, %d entries, want %d", i, d, s.Stats().Keys, want)
		}
	}
	s.now += 3_599_999_999
	if d := s.ask(l, "k"); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("a microsecond before it ends: %+v", d)
	}
	if s.now++; !s.ask(l, "k").Allowed {
		t.Error("refused when it is over")
	}
	s.now += 3_600_000_000
	s.prune()
	if n := s.Stats().Keys; n != 0 {
		t.Errorf("%d entries are left when all is forgotten", n)
	}
}

// Without room there is no penalty; one that there is holds through a flood, though
// the limit's own state is in a shared cell by then.
func TestPenaltiesInAFullStore(t *testing.T) {
	s, l, flood := penalize(t, Config{MaxKeys: 64}), weir.MustLimit("login", "2/h block 1d"), weir.MustLimit("flood", "1/day")
	for range 3 {
		s.ask(l, "early")
	}
	for i := range 200 {
		s.ask(flood, fmt.Sprint(i))
		s.ask(l, fmt.Sprint(i))
	}
	s.now += 3_600_000_000 * 12
	if d := s.ask(l, "early"); d.Allowed || d.RetryAfter != 3_600_000_000*12 {
		t.Errorf("who was blocked before the flood: %+v", d)
	}
	if d := s.ask(l, "late"); d.RetryAfter > 3_600_000_000 {
		t.Errorf("who comes after it: %+v", d)
	}
}

// A block that has begun lasts through other numbers, and through a rule's new name.
func TestPenaltiesThroughAReload(t *testing.T) {
	s, l := penalize(t, Config{}), weir.MustLimit("login", "1/h block 1d")
	other, err := weir.NewLimitKeeping("signin", "login", weir.MustLimit("x", "5/min block 1m").Spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ExpectOnly(nil, l); err != nil {
		t.Fatal(err)
	}
	s.ask(l, "k")
	s.ask(l, "k")
	if err := s.ExpectOnly(nil, other); err != nil {
		t.Fatal(err)
	}
	if d := s.ask(other, "k"); d.Allowed || d.RetryAfter != 86_400_000_000 {
		t.Errorf("under other numbers: %+v", d)
	}
	k, _ := s.Keyer().Key(weir.Text("user", "k"))
	if err := s.Reset(context.Background(), other, k); err != nil {
		t.Fatal(err)
	}
	if d := s.ask(other, "k"); !d.Allowed || d.Remaining != 4 {
		t.Errorf("after Reset: %+v", d)
	}
}
