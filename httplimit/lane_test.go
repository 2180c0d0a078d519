package httplimit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// farSide lets size requests pass in each minute. Requests reach it, and their
// answers come back, in any order.
type farSide struct {
	*rapid.T

	lane     *lane
	at       time.Time
	size     int64
	ends     time.Time   // of the window
	count    int64       // of requests in it
	under    []uint64    // requests that have not reached it
	answered []farAnswer // answers that have not come back
}

type farAnswer struct {
	number uint64
	left   int64
	reset  time.Time
}

func (f *farSide) send() bool {
	number, ok := f.lane.admit(f.at)
	if ok {
		f.under = append(f.under, number)
	}
	return ok
}

// turn begins another window where it is time for one.
func (f *farSide) turn() {
	for !f.at.Before(f.ends) {
		f.ends, f.count = f.ends.Add(time.Minute), 0
	}
}

// reach lets one request arrive.
func (f *farSide) reach() {
	i := rapid.IntRange(0, len(f.under)-1).Draw(f.T, "arrives")
	number := f.under[i]
	f.under = slices.Delete(f.under, i, i+1)
	f.turn()
	if f.count++; f.count > f.size {
		f.Fatalf("request %d of a window of %d", f.count, f.size)
	}
	f.answered = append(f.answered, farAnswer{number, f.size - f.count, f.ends})
}

// tell lets one answer come back.
func (f *farSide) tell() {
	i := rapid.IntRange(0, len(f.answered)-1).Draw(f.T, "comes back")
	a := f.answered[i]
	f.answered = slices.Delete(f.answered, i, i+1)
	f.lane.learn(a.number, advice{stated: true, left: a.left, reset: a.reset.Sub(f.at)}, f.at, time.Hour)
}

// finish lets everything under way come back.
func (f *farSide) finish() {
	for len(f.under) > 0 {
		f.reach()
	}
	for len(f.answered) > 0 {
		f.tell()
	}
}

// Once a far side has answered, no more is sent than it lets pass, whatever happens
// in which order; and all that it lets pass can be sent.
func TestLaneNeverOverdrawsAWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &farSide{T: rt, lane: newLane(weir.Key{}), at: today(), ends: today().Add(time.Minute)}
		f.size = rapid.Int64Range(1, 20).Draw(rt, "size")
		f.send()
		f.finish()
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			switch what := rapid.IntRange(0, 3).Draw(rt, "what"); {
			case what == 0 && len(f.under) > 0:
				f.reach()
			case what == 1 && len(f.answered) > 0:
				f.tell()
			case what < 3:
				f.send()
			default: // no request takes as long as a window
				f.finish()
				f.at = f.at.Add(f.lane.closed(f.at))
			}
		}
		f.finish()
		f.at = f.at.Add(f.lane.closed(f.at))
		for f.turn(); f.count < f.size; {
			if !f.send() {
				rt.Fatalf("%d of %d were sent, and the lane is closed for %v", f.count, f.size, f.lane.closed(f.at))
			}
			f.finish()
		}
		if d, rest := f.lane.closed(f.at), f.ends.Sub(f.at); d != rest {
			rt.Fatalf("the window is used up, and the lane closed for %v of %v", d, rest)
		}
	})
}

// After a pause one goes, and the others when it was answered, or a second later.
func TestLaneOpensForOneFirst(t *testing.T) {
	at := today()
	f := func(end func(l *lane, probe uint64) (opens time.Duration)) {
		t.Helper()
		l := newLane(weir.Key{})
		first, _ := l.admit(at)
		early, _ := l.admit(at)
		l.learn(first, advice{refused: true, wait: 5 * time.Second}, at, time.Hour)
		if d := l.closed(at.Add(5*time.Second - 1)); d != 1 {
			t.Errorf("closed for %v, want 1ns", d)
		}
		now := at.Add(5 * time.Second)
		probe, ok := l.admit(now)
		if _, again := l.admit(now); !ok || again {
			t.Errorf("the first: %t, the second: %t", ok, again)
		}
		l.learn(early, advice{}, now, time.Hour) // it was sent before: it opens nothing
		if d := l.closed(now); d != time.Second {
			t.Errorf("closed for %v, want 1s", d)
		}
		opens := end(l, probe)
		if d := l.closed(now); d != opens {
			t.Errorf("closed for %v, want %v", d, opens)
		}
		if opens > 0 {
			return
		}
		for range 100 {
			if _, ok := l.admit(now); !ok {
				t.Fatal("closed")
			}
		}
	}
	now := at.Add(5 * time.Second)
	f(func(l *lane, probe uint64) time.Duration {
		l.learn(probe, advice{}, now, time.Hour)
		return 0
	})
	f(func(l *lane, probe uint64) time.Duration {
		l.learn(probe, advice{stated: true, left: 1000, reset: time.Hour}, now, time.Hour)
		return 0
	})
	f(func(l *lane, probe uint64) time.Duration {
		l.learn(probe, advice{stated: true, left: 0, reset: time.Minute}, now, time.Hour)
		return time.Minute
	})
	f(func(l *lane, probe uint64) time.Duration {
		l.learn(probe, advice{refused: true, wait: 7 * time.Second}, now, time.Hour)
		return 7 * time.Second
	})
	f(func(l *lane, probe uint64) time.Duration {
		l.learn(probe, advice{refused: true, wait: 2 * time.Hour}, now, time.Hour)
		return time.Hour
	})
	f(func(*lane, uint64) time.Duration { return time.Second })
}

// Without answers one goes each second.
func TestLaneWithoutAnswers(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	n, _ := l.admit(at)
	l.learn(n, advice{refused: true, wait: time.Second}, at, time.Hour)
	sent := 0
	for range 10 {
		at = at.Add(time.Second)
		for range 5 {
			if _, ok := l.admit(at); ok {
				sent++
			}
		}
	}
	if sent != 10 {
		t.Errorf("%d were sent in 10 seconds", sent)
	}
}

// A request that is not answered, or whose answer says nothing, has used one.
func TestLaneCountsWhatSaysNothing(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	n, _ := l.admit(at)
	l.learn(n, advice{stated: true, left: 3, reset: time.Minute}, at, time.Hour)
	n, _ = l.admit(at)
	l.learn(n, advice{}, at, time.Hour)
	l.admit(at)
	l.lose()
	l.admit(at)
	if d := l.closed(at); d != time.Minute {
		t.Errorf("closed for %v", d)
	}
	l.lose()
	if d := l.closed(at); d != time.Minute {
		t.Errorf("closed for %v", d)
	}
	at = at.Add(time.Minute)
	n, _ = l.admit(at)
	l.learn(n, advice{stated: true, left: 1, reset: time.Minute}, at, time.Hour)
	if d := l.closed(at); d != 0 {
		t.Errorf("closed for %v: nothing is under way any more", d)
	}
}

// Of answers that say the same the one that lasts longer counts, and one that was
// made in a window that is over says nothing of the next.
func TestLaneWindows(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	for range 3 {
		l.admit(at)
	}
	l.learn(1, advice{stated: true, left: 0, reset: 5 * time.Second}, at, time.Hour)
	l.learn(2, advice{stated: true, left: 0, reset: 30 * time.Second}, at, time.Hour)
	if d := l.closed(at); d != 30*time.Second {
		t.Errorf("closed for %v", d)
	}
	at = at.Add(time.Minute)
	l.learn(3, advice{stated: true, left: 2, reset: 30 * time.Second}, at, time.Hour)
	for i := range 3 {
		if _, ok := l.admit(at); ok != (i < 2) {
			t.Errorf("request %d of a window of 2: %t", i+1, ok)
		}
	}
}

// Refusals that do not say for how long make longer pauses in a row alone.
func TestLaneForgetsRefusals(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	refused := func(want time.Duration) {
		t.Helper()
		n, ok := l.admit(at)
		l.learn(n, advice{refused: true}, at, time.Hour)
		if d := l.closed(at); !ok || d != want {
			t.Errorf("closed for %v, want %v", d, want)
		}
		at = at.Add(want)
	}
	refused(1 * time.Second)
	refused(2 * time.Second)
	n, _ := l.admit(at)
	l.learn(n, advice{}, at, time.Hour)
	refused(1 * time.Second)
}

// Of a bucket that fills again more is left later than was before.
func TestLaneBelievesTheNewer(t *testing.T) {
	at := today()
	f := func(want int, numbers ...uint64) {
		t.Helper()
		l := newLane(weir.Key{})
		l.admit(at)
		l.admit(at)
		for _, n := range numbers[:1] {
			l.learn(n, advice{stated: true, left: 1, reset: time.Minute}, at, time.Hour)
		}
		for _, n := range numbers[1:] {
			for l.sent < n {
				l.least++ // whatever was left
				l.admit(at)
			}
			l.learn(n, advice{stated: true, left: 50, reset: time.Minute}, at, time.Hour)
		}
		got := 0
		for {
			if _, ok := l.admit(at); !ok {
				break
			}
			got++
		}
		if got != want {
			t.Errorf("%v: %d may go, want %d", numbers, got, want)
		}
	}
	f(1, 1, 2)  // they were under way together: the one that has less left was made later
	f(1, 2, 1)  // likewise
	f(49, 1, 3) // sent after the first was answered; the second is under way
}

// A pause is never made shorter by an answer that came later, and refusals that
// belong to one pause count once.
func TestLanePausesDoNotShrink(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	for range 9 {
		l.admit(at)
	}
	l.learn(1, advice{refused: true, wait: time.Minute}, at, time.Hour)
	l.learn(2, advice{refused: true, wait: time.Second}, at, time.Hour)
	l.learn(3, advice{refused: true}, at, time.Hour)
	l.learn(4, advice{}, at, time.Hour)
	l.learn(5, advice{stated: true, left: 1000, reset: time.Second}, at, time.Hour)
	if d := l.closed(at); d != time.Minute {
		t.Errorf("closed for %v", d)
	}
	l = newLane(weir.Key{})
	for i := range 9 {
		l.admit(at)
		l.learn(uint64(i+1), advice{refused: true}, at, time.Hour)
	}
	if d := l.closed(at); d != time.Second {
		t.Errorf("closed for %v after nine refusals at once", d)
	}
}

// However many hosts ask to be left alone, memory is bounded; those whose pause
// ends last are remembered.
func TestLanesAreBounded(t *testing.T) {
	const room, hosts = 100, 1000
	s := newLanes(room)
	at := today()
	part := func(i int) weir.Part { return weir.Text("host", fmt.Sprint(i)) }
	visit := func(i int, d time.Duration) (closed time.Duration) {
		l := s.enter(part(i))
		defer s.leave(l, at)
		if closed = s.closed(l, at); closed > 0 {
			return closed
		}
		n, _ := s.admit(l, at)
		s.learn(l, n, advice{refused: d > 0, wait: d}, at, time.Hour)
		return 0
	}
	check := func(resting int) {
		t.Helper()
		if len(s.byKey) != resting || s.resting != resting {
			t.Fatalf("%d lanes, %d at rest, want %d", len(s.byKey), s.resting, resting)
		}
	}
	for i := range hosts { // nobody says anything: nothing is remembered
		visit(i, 0)
	}
	check(0)
	busy := s.enter(part(-1)) // under way all the time
	for i := range hosts {
		visit(i, time.Duration(i+1)*time.Second)
	}
	if len(s.byKey) != room+1 || s.resting != room {
		t.Fatalf("%d lanes, %d at rest", len(s.byKey), s.resting)
	}
	s.leave(busy, at)
	for i := range hosts {
		want := time.Duration(0)
		if i >= hosts-room {
			want = time.Duration(i+1) * time.Second
		}
		if i >= hosts-room || i < 10 {
			if got := visit(i, 0); got != want {
				t.Errorf("host %d is closed for %v, want %v", i, got, want)
			}
		}
	}
	check(room)
	at = at.Add(time.Hour) // all is over: the next that is remembered clears them away
	visit(0, time.Second)
	check(1)
	visit(1, time.Second)
	at = at.Add(time.Second)
	visit(0, 0)
	visit(1, 0)
	visit(0, 0)
	visit(1, 0)
	if s.resting > 2 {
		t.Errorf("%d at rest", s.resting)
	}
}

func TestReadList(t *testing.T) {
	fields := newRefFields()
	f := func(want string, lines ...string) {
		t.Helper()
		got := ""
		for _, m := range readList(lines) {
			got += m.name
			for _, p := range m.params {
				got += fmt.Sprintf(";%s=%d%s", p.key, p.value.number, p.value.text)
			}
			got += "|"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
		if (len(fields.members(lines)) > 0) != (want != "") {
			t.Errorf("%q: the reference finds %v", lines, fields.members(lines))
		}
	}
	f("")
	f("", "")
	f("", "  ")
	f("a|", `"a"`)
	f("a|b|", ` "a" , "b"	`)
	f("a|b|", `"a"`, `"b"`)
	f("a;r=5;t=60|", `"a";r=5;t=60`)
	f("a;r=5;t=60|", `"a"; r=5;  t=60`)
	f(`a"\;r=0|`, `"a\"\\";r`)
	f("a;x=0y;z=0|", `"a";x="y";z=tok/en:1`)
	f("a;x=0;y=0;z=0;p=0;q=0|", `"a";x=1.5;y=:aGk=:;z=?1;p=@-5;q=%"%c3%a4 "`)
	f("a;r=-5|", `"a";r=-5`)
	f("a;r=999999999999999|", `"a";r=999999999999999`)
	f("a;*x-_.9=0|", `"a";*x-_.9`)
	for _, broken := range []string{
		`"a",`, `,"a"`, `"a",,"b"`, `"a" "b"`, `"a`, `"a\`, `"a\x"`, "\"a\x00\"", `"ä"`, `a`, `5`, `("a")`, `"a" ;r=5`, `"a";`, `"a";R=5`,
		`"a";r=`, `"a";r=-`, `"a";r=1000000000000000`, `"a";r=5.`, `"a";r=.5`, `"a";r=1.2345`, `"a";r=1234567890123.5`, `"a";r=--5`,
		`"a";x=?2`, `"a";x=?`, `"a";x=:a`, `"a";x=:a b:`, `"a";x=@`, `"a";x=@1.5`, `"a";x=%`, `"a";x=%"`, `"a";x=%"%C3"`, `"a";x=%"%c`, "\"a\";x=%\"\x7f\"",
		`"a";x=(1)`, `"a";x=é`, "\t\"a\"",
	} {
		f("", broken)
	}
}

func TestSpansAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{1: "1ms", time.Second: "1s", time.Second + 1: "1s1ms", 90*time.Second - 1: "1m30s"} {
		if got := spoken(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestHostsAreWrittenInOneWay(t *testing.T) {
	f := func(want, url string) {
		t.Helper()
		if got := hostOf(mustURL(t, url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	f("api.example", "https://api.example/")
	f("api.example", "https://API.Example.:443/")
	f("api.example", "http://api.example:80")
	f("api.example:443", "http://api.example:443")
	f("api.example:80", "https://api.example.:80")
	f("::1", "http://[::1]:80")
	f("[::1]:8080", "http://[::1]:8080")
	if got := hostOf(nil); got != "" {
		t.Error(got)
	}
}
