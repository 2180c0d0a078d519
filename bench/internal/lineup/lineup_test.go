package lineup_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/bench/internal/lineup"
)

// few is a quota that every contender can express: three at once, and no more
// within the time of any test.
func few() lineup.Quota { return lineup.Quota{Count: 3, Per: time.Hour, Burst: 3} }

// allowed is how many of a key's first asks may pass under few.
func allowed(c *lineup.Contender) int {
	if c.Algorithm == lineup.Spaced {
		return 1
	}
	return 3
}

func TestContendersAdmitAndRefuse(t *testing.T) {
	for _, c := range lineup.All() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Waits {
				return // asked for a fourth it would hold the test for an hour: see below
			}
			l := start(t, &c, few(), 2)
			ask := l.Ask()
			for i := range allowed(&c) {
				if got := ask("203.000.113.001"); got != lineup.Allowed {
					t.Fatalf("ask %d: verdict %d, want it allowed", i+1, got)
				}
			}
			want := lineup.Allowed
			if c.Refuses() {
				want = lineup.Refused
			}
			if got := ask("203.000.113.001"); got != want {
				t.Errorf("the ask after them: verdict %d, want %d", got, want)
			}
			if got := ask("203.000.113.002"); c.Kind != lineup.Single && got != lineup.Allowed {
				t.Errorf("another key: verdict %d, want it allowed", got)
			}
		})
	}
}

// What is measured is what it is said to be: allowed every time, also after the
// table was filled, and refused every time once it is spent.
func TestContendersUnderTheQuotasOfTheTables(t *testing.T) {
	for _, c := range lineup.All() {
		t.Run(c.Name, func(t *testing.T) {
			for quota, want := range map[lineup.Quota]lineup.Verdict{lineup.Ample(): lineup.Allowed, lineup.Spent(): lineup.Refused} {
				if want == lineup.Refused && !c.Refuses() {
					continue
				}
				l := start(t, &c, quota, 100)
				fill := l.Fill
				if fill == nil {
					fill = l.Ask()
				}
				keys := keys(100)
				for i, key := range keys {
					if got := fill(key); got != lineup.Allowed && (c.Kind != lineup.Single || i == 0) {
						t.Fatalf("filling: verdict %d, want it allowed", got)
					}
				}
				ask := l.Ask()
				for i := range 1000 {
					if got := ask(keys[i%100]); got != want {
						t.Fatalf("ask %d: verdict %d, want %d", i+1, got, want)
					}
				}
				if l.Check == nil {
					continue
				}
				if err := l.Check(100); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Whoever forgets refuses a key's second ask, and allows one again when its life is over.
func TestContendersThatForget(t *testing.T) {
	const life = 300 * time.Millisecond
	for _, c := range lineup.All() {
		if c.Aging == nil || c.Kind == lineup.Floor {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			l, err := c.Aging(life, 100)
			if err != nil {
				t.Fatal(err)
			}
			if l.Close != nil {
				t.Cleanup(l.Close)
			}
			ask, begin := l.Ask(), time.Now()
			first, second := ask("203.000.113.001"), ask("203.000.113.001")
			if first != lineup.Allowed || second != lineup.Refused && time.Since(begin) < life {
				t.Fatalf("verdicts %d and %d, want the first allowed and the second refused", first, second)
			}
			for ask("203.000.113.001") != lineup.Allowed {
				if time.Since(begin) > 10*life {
					t.Fatal("not allowed again in ten lives")
				}
			}
			if took := time.Since(begin); took < life/2 {
				t.Errorf("allowed again after %v, of a life of %v", took, life)
			}
		})
	}
}

func TestWhoHasABoundSaysSo(t *testing.T) {
	for _, c := range lineup.All() {
		l := start(t, &c, lineup.Lasting(), 1000)
		if got := l.Room > 0; got != c.Bounded {
			t.Errorf("%s: room for %d keys, bounded: %t", c.Name, l.Room, c.Bounded)
		}
	}
}

// A call of which a take fails is not allowed.
func TestCallsTellErrors(t *testing.T) {
	for _, c := range lineup.Calls() {
		l, err := c.New(few(), 16)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if got := l.Ask()(keys(16)[:c.Keys]); got == lineup.Allowed {
			t.Errorf("%s: a store that is closed allows", c.Name)
		}
	}
}

func TestCheckSeesKeysThatAreMissing(t *testing.T) {
	for _, c := range lineup.All() {
		if c.Kind != lineup.Weir {
			continue
		}
		l := start(t, &c, lineup.Ample(), 2)
		l.Fill("203.000.113.001")
		if l.Check(2) == nil {
			t.Errorf("%s: a table of one key is said to hold two", c.Name)
		}
	}
}

func TestCallsAdmitAndRefuse(t *testing.T) {
	keys := keys(16)
	for _, c := range lineup.Calls() {
		t.Run(c.Name, func(t *testing.T) {
			l, err := c.New(few(), 16)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.Close)
			ask := l.Ask()
			for i := range 3 {
				if got := ask(keys[:c.Keys]); got != lineup.Allowed {
					t.Fatalf("call %d: verdict %d, want it allowed", i+1, got)
				}
			}
			if got := ask(keys[:c.Keys]); got != lineup.Refused {
				t.Errorf("the call after them: verdict %d, want it refused", got)
			}
		})
	}
}

// The calls ask as many keys as they say: all of them, and no other.
func TestCallsChargeTheirKeys(t *testing.T) {
	keys := keys(17)
	for _, c := range lineup.Calls() {
		t.Run(c.Name, func(t *testing.T) {
			l, err := c.New(lineup.Spent(), 17)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.Close)
			l.Ask()(keys)
			for i, key := range keys {
				want := lineup.Allowed
				if i < c.Keys {
					want = lineup.Refused
				}
				if got := l.Fill(key); got != want {
					t.Errorf("key %d: verdict %d, want %d", i, got, want)
				}
			}
		})
	}
}

func TestMost(t *testing.T) {
	q := lineup.Quota{Count: 1000, Per: time.Second, Burst: 100}
	for algorithm, want := range map[lineup.Algorithm]int64{
		lineup.None:        0,
		lineup.TokenBucket: 2600,
		lineup.Spaced:      2501,
		lineup.FixedWindow: 3000,
		lineup.TwoWindows:  3500,
	} {
		if got := algorithm.Most(q, 2500*time.Millisecond); got != want {
			t.Errorf("%s: at most %d in 2.5 s, want %d", algorithm, got, want)
		}
	}
}

func start(t *testing.T, c *lineup.Contender, q lineup.Quota, keys int) *lineup.Limiter {
	t.Helper()
	l, err := c.New(q, keys)
	if err != nil {
		t.Fatal(err)
	}
	if l.Close != nil {
		t.Cleanup(l.Close)
	}
	return l
}

func keys(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("203.000.113.%03d", i))
	}
	return list
}
