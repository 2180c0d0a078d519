package header

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestPolicyItem(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		l, err := weir.ParseLimit("create-job", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := newPolicy(l.Name(), l.Spec(), l.Capacity()).item; got != `"create-job"`+want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f("5/s", `;q=5;w=1`)
	f("5/s burst 5", `;q=5;w=1`)
	f("100/min burst 200", `;q=100;w=60;weir-burst=200`)
	f("1000/h fixed-window", `;q=1000;w=3600`)
	f("1000/week", `;q=1000;w=604800`)
	f("1 per 30d", `;q=1;w=2592000`)
	f("5000/day calendar Europe/Berlin", `;q=5000;w=86400`)
	f("5000/week calendar UTC", `;q=5000;w=604800`)
	f("100000/month calendar UTC", `;q=100000`) // months have 28 to 31 days
	// No whole seconds: q is no longer what can pass at once.
	f("7 per 500ms", `;q=14;w=1;weir-burst=7`)
	f("7 per 500ms burst 14", `;q=14;w=1`)
	f("10 per 1500ms fixed-window", `;q=20;w=3;weir-burst=10`)
}

func TestPolicyOfSlots(t *testing.T) {
	p := newPolicy("render", weir.Spec{Algorithm: weir.Concurrency, Count: 8}, 8)
	if want := `"render";q=8;qu="concurrent-requests"`; p.item != want {
		t.Errorf("got %s, want %s", p.item, want)
	}
	got := p.state(nil, &weir.Take{Cost: 1}, &weir.Decision{Allowed: true, Remaining: 7})
	if want := `"render";r=7`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What no field can tell of gets no policy, instead of a broken field.
func TestNoPolicy(t *testing.T) {
	f := func(name string, s weir.Spec, capacity int64) {
		t.Helper()
		if p := newPolicy(name, s, capacity); p != nil {
			t.Errorf("%q: got %+v, want none", name, p)
		}
	}
	f("naïve", weir.Spec{Count: 1, Period: time.Second}, 1)
	f("line\n", weir.Spec{Count: 1, Period: time.Second}, 1)
	f("all", weir.Spec{Algorithm: weir.Unlimited}, 0)
	f("none", weir.Spec{Algorithm: weir.Deny}, 0)
}

func TestState(t *testing.T) {
	f := func(text string, cost int64, d weir.Decision, want string) {
		t.Helper()
		l := weir.MustLimit("api", text)
		p := newPolicy(l.Name(), l.Spec(), l.Capacity())
		got := p.state(nil, &weir.Take{Limit: l, Cost: cost}, &d)
		if string(got) != `"api"`+want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	// A token bucket with something left: the time in which r flows back.
	f("5/s", 1, weir.Decision{Allowed: true, Remaining: 4, ResetAfter: 200_000}, ";r=4;t=1")
	f("5/s burst 50", 1, weir.Decision{Allowed: true, Remaining: 49, ResetAfter: 200_000}, ";r=49;t=10")
	f("1000/h", 1, weir.Decision{Allowed: true, Remaining: 999, ResetAfter: 3_600_000}, ";r=999;t=3597")
	f("3 per 10s", 1, weir.Decision{Allowed: true, Remaining: 2, ResetAfter: 3_333_334}, ";r=2;t=7")
	f("3 per 3000001us", 1, weir.Decision{Allowed: true, Remaining: 1}, ";r=1;t=2")
	// With nothing left: the wait for as much again.
	f("6/min", 1, weir.Decision{Allowed: true, ResetAfter: 55 * second}, ";r=0;t=5")
	f("6/min", 6, weir.Decision{Allowed: true, ResetAfter: 60 * second}, ";r=0;t=60")
	f("6/min", 0, weir.Decision{Allowed: true, ResetAfter: 55 * second}, ";r=0;t=5")  // a peek
	f("6/min", 1, weir.Decision{Allowed: true, ResetAfter: 95 * second}, ";r=0;t=45") // by force, into the overdraft
	f("6/min", 1, weir.Decision{Allowed: true}, ";r=0;t=1")                           // says two things at once
	// Refused: the wait that the store has found.
	f("5/s", 1, weir.Decision{RetryAfter: 180_000, ResetAfter: 980_000}, ";r=0;t=1")
	f("6/min", 4, weir.Decision{Remaining: 3, RetryAfter: 9_000_001, ResetAfter: 30 * second}, ";r=3;t=10")
	f("5/s", 1, weir.Decision{}, ";r=0;t=1")
	// Never: nothing to wait for, so what is left and when it flows back.
	f("6/min", 7, weir.Decision{Never: true, Remaining: 6}, ";r=6;t=60")
	f("6/min", 7, weir.Decision{Never: true, ResetAfter: 60 * second}, ";r=0;t=10")
	f("1000/day fixed-window", 2000, weir.Decision{Never: true, Remaining: 10, ResetAfter: 12_000_001}, ";r=10;t=13")
	// Windows: the end, or a whole one.
	f("1000/h fixed-window", 1, weir.Decision{Allowed: true, Remaining: 731, ResetAfter: 2_631_000_001}, ";r=731;t=2632")
	f("1000/h fixed-window", 1, weir.Decision{RetryAfter: 11_200_000, ResetAfter: 11_200_000}, ";r=0;t=12")
	f("1000/h fixed-window", 0, weir.Decision{Allowed: true, Remaining: 1000}, ";r=1000;t=3600")
	// Leaky buckets: as buckets; what bounds a queue by its wait leaves a part of a unit.
	f("10/s leaky-bucket queue 9", 1, weir.Decision{Allowed: true, Remaining: 9, ResetAfter: 100_000}, ";r=9;t=1")
	f("10/min leaky-bucket wait 45s", 1, weir.Decision{Allowed: true, Remaining: 7, ResetAfter: 6 * second, Delay: 0}, ";r=7;t=42")
	f("10/min leaky-bucket wait 45s", 1, weir.Decision{Allowed: true, ResetAfter: 48 * second, Delay: 42 * second}, ";r=0;t=3")
	f("10/min leaky-bucket wait 45s", 2, weir.Decision{Allowed: true, ResetAfter: 48 * second, Delay: 36 * second}, ";r=0;t=9")
	f("10/min leaky-bucket wait 45s queue 7", 1, weir.Decision{Allowed: true, ResetAfter: 48 * second, Delay: 42 * second}, ";r=0;t=6")
	f("10/min leaky-bucket queue 7", 1, weir.Decision{RetryAfter: 2_000_001, ResetAfter: 48 * second}, ";r=0;t=3")
	f("10/min leaky-bucket wait 2s", 1, weir.Decision{Allowed: true, ResetAfter: 6 * second}, ";r=0;t=4")
	f("10/min leaky-bucket wait 45s", 9, weir.Decision{Never: true, ResetAfter: 48 * second}, ";r=0;t=3")
	// Sliding windows: the end of the present one, or with nothing left the longest
	// wait for as much again.
	f("60/h sliding-window", 1, weir.Decision{Allowed: true, Remaining: 31, ResetAfter: 3601 * second}, ";r=31;t=1")
	f("60/h sliding-window", 1, weir.Decision{Allowed: true, Remaining: 31, ResetAfter: 7199_000_001}, ";r=31;t=3600")
	f("60/h sliding-window", 0, weir.Decision{Allowed: true, Remaining: 31, ResetAfter: 3600 * second}, ";r=31;t=3600") // all is of the window before
	f("60/h sliding-window", 0, weir.Decision{Allowed: true, Remaining: 60}, ";r=60;t=3600")
	f("60/h sliding-window", 1, weir.Decision{Allowed: true, ResetAfter: 3610 * second}, ";r=0;t=70")
	f("60/h sliding-window", 5, weir.Decision{Allowed: true, ResetAfter: 3610 * second}, ";r=0;t=310")
	f("60/h sliding-window", 1, weir.Decision{RetryAfter: 11_200_000, ResetAfter: 3610 * second}, ";r=0;t=12")
	f("60/h sliding-window", 61, weir.Decision{Never: true, ResetAfter: 3610 * second}, ";r=0;t=70")
	f("60/h sliding-window", 1, weir.Decision{Never: true, ResetAfter: -1}, ";r=0;t=3600")
	f("9/month calendar UTC", 1, weir.Decision{Allowed: true, Remaining: 8, ResetAfter: 86_400 * second}, ";r=8;t=86400")
	f("9/month calendar UTC", 0, weir.Decision{Allowed: true, Remaining: 9}, ";r=9")
	// Another mode than exact is named; leased is as exact.
	f("5/s", 1, weir.Decision{Allowed: true, Remaining: 4, Mode: weir.Leased}, ";r=4;t=1")
	f("5/s", 1, weir.Decision{RetryAfter: 1, Mode: weir.Cached}, ";r=0;t=1;weir-mode=cached")
	f("5/s", 1, weir.Decision{Allowed: true, Remaining: 4, Mode: weir.Local}, ";r=4;t=1;weir-mode=local")
	f("5/s", 1, weir.Decision{Allowed: true, Remaining: 4, Mode: weir.Overflow}, ";r=4;t=1;weir-mode=overflow")
	// Numbers that no field may hold.
	f("5/s", 1, weir.Decision{Allowed: true, Remaining: -3, ResetAfter: -1}, ";r=0;t=1")
	f("5/s burst 50", 1, weir.Decision{Allowed: true, ResetAfter: -1 << 63}, ";r=0;t=1")
	f("1/s", 1, weir.Decision{Allowed: true, Remaining: 1 << 62}, ";r=999999999999999;t=9223372036855")
}

// Limits that are seen once, as those are that callers bring, do not pile up,
// and those of the rules are remembered whatever else comes.
func TestPoliciesAreBounded(t *testing.T) {
	var p policies
	size := func() (n int) {
		p.known.Range(func(any, any) bool { n++; return true })
		return n
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range maxPolicies {
				p.of(weir.MustLimit("take/1s", "5/s"))
			}
		})
	}
	wait.Wait()
	if n := size(); n > maxPolicies+4 {
		t.Errorf("%d are remembered, want at most %d and one a goroutine", n, maxPolicies)
	}
	l := weir.MustLimit("api", "5/s")
	if first, again := p.of(l), p.of(l); first != again {
		t.Error("a limit that was just seen is made again")
	}
}

// Two limits of one name, as before and after a reload, have their own texts.
func TestPoliciesGoByLimit(t *testing.T) {
	var p policies
	for i := range 10 {
		text := strconv.Itoa(i+1) + "/s"
		if got, want := p.of(weir.MustLimit("api", text)).total, strconv.Itoa(i+1); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
