package httplimit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// says is an answer to a request that was let in, about one quota.
func says(left int64, reset time.Duration) advice {
	return advice{stated: []statement{{left: left, reset: reset}}}
}

// farSide lets only so many requests pass in each of its windows. Requests reach it,
// and their answers come back, in any order.
type farSide struct {
	*rapid.T

	lane     *lane
	at       time.Time
	windows  []farWindow
	under    []uint64    // requests that have not reached it
	answered []farAnswer // answers that have not come back
}

// farWindow lets size requests pass in each period.
type farWindow struct {
	size, count int64
	period      time.Duration
	ends        time.Time
}

type farAnswer struct {
	number uint64
	left   []int64
	resets []time.Time
}

func drawFarSide(t *rapid.T) *farSide {
	f := &farSide{T: t, lane: newLane(weir.Key{}), at: today()}
	for range rapid.IntRange(1, 3).Draw(t, "windows") {
		period := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Minute}).Draw(t, "period")
		f.windows = append(f.windows, farWindow{size: rapid.Int64Range(1, 20).Draw(t, "size"), period: period, ends: f.at.Add(period)})
	}
	return f
}

func (f *farSide) send() bool {
	number, ok := f.lane.admit(f.at)
	if ok {
		f.under = append(f.under, number)
	}
	return ok
}

// turn begins other windows where it is time for them.
func (f *farSide) turn() {
	for i := range f.windows {
		for w := &f.windows[i]; !f.at.Before(w.ends); {
			w.ends, w.count = w.ends.Add(w.period), 0
		}
	}
}

// full is the end of the last of the windows that are used up; zero where none is.
func (f *farSide) full() (end time.Time) {
	for _, w := range f.windows {
		if w.count == w.size {
			end = later(end, w.ends)
		}
	}
	return end
}

// reach lets one request arrive.
func (f *farSide) reach() {
	i := rapid.IntRange(0, len(f.under)-1).Draw(f.T, "arrives")
	a := farAnswer{number: f.under[i]}
	f.under = slices.Delete(f.under, i, i+1)
	f.turn()
	for i := range f.windows {
		w := &f.windows[i]
		if w.count++; w.count > w.size {
			f.Fatalf("request %d of a window of %d", w.count, w.size)
		}
		a.left, a.resets = append(a.left, w.size-w.count), append(a.resets, w.ends)
	}
	f.answered = append(f.answered, a)
}

// tell lets one answer come back.
func (f *farSide) tell() {
	i := rapid.IntRange(0, len(f.answered)-1).Draw(f.T, "comes back")
	a := f.answered[i]
	f.answered = slices.Delete(f.answered, i, i+1)
	var told advice
	for i := range a.left {
		told.stated = append(told.stated, statement{quotaName{nth: i}, a.left[i], a.resets[i].Sub(f.at)})
	}
	f.lane.learn(a.number, told, f.at, time.Hour)
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

// Once a far side has answered, no more is sent than it lets pass in any of its
// windows, whatever happens in which order; and all that it lets pass can be sent.
func TestLaneNeverOverdrawsAWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFarSide(rt)
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
		for f.turn(); f.full().IsZero(); {
			if !f.send() {
				rt.Fatalf("the lane is closed for %v, and no window of %+v is used up", f.lane.closed(f.at), f.windows)
			}
			f.finish()
		}
		if d, rest := f.lane.closed(f.at), f.full().Sub(f.at); d != rest {
			rt.Fatalf("the windows are used up, and the lane closed for %v of %v", d, rest)
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
		l.learn(probe, says(1000, time.Hour), now, time.Hour)
		return 0
	})
	f(func(l *lane, probe uint64) time.Duration {
		l.learn(probe, says(0, time.Minute), now, time.Hour)
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

// Whoever answers slowly opens the lane as well, though others have been sent on trial
// meanwhile.
func TestLaneIsOpenedBySlowAnswers(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	n, _ := l.admit(at)
	l.learn(n, advice{refused: true, wait: time.Second}, at, time.Hour)
	var sent []uint64
	for range 5 {
		at = at.Add(time.Second)
		n, _ := l.admit(at)
		sent = append(sent, n)
	}
	l.learn(sent[0], says(3, time.Minute), at, time.Hour)
	l.learn(sent[1], advice{}, at, time.Hour)
	if d := l.closed(at); d != time.Minute {
		t.Errorf("closed for %v: two are left, and three under way", d)
	}
	l.learn(sent[2], says(10, time.Minute), at, time.Hour)
	if d := l.closed(at); d != time.Minute {
		t.Errorf("closed for %v: it was sent before the first was answered", d)
	}
	l.learn(sent[3], advice{}, at, time.Hour)
	l.learn(sent[4], says(1, time.Minute), at, time.Hour)
	if _, ok := l.admit(at); !ok {
		t.Error("one is left, and the lane closed")
	}
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
	l.learn(n, says(3, time.Minute), at, time.Hour)
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
	l.learn(n, says(1, time.Minute), at, time.Hour)
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
	l.learn(1, says(0, 5*time.Second), at, time.Hour)
	l.learn(2, says(0, 30*time.Second), at, time.Hour)
	if d := l.closed(at); d != 30*time.Second {
		t.Errorf("closed for %v", d)
	}
	at = at.Add(time.Minute)
	l.learn(3, says(2, 30*time.Second), at, time.Hour)
	for i := range 3 {
		if _, ok := l.admit(at); ok != (i < 2) {
			t.Errorf("request %d of a window of 2: %t", i+1, ok)
		}
	}
}

// about is what an answer says of a quota that has a name.
func about(name string, left int64, reset time.Duration) statement {
	return statement{quotaName{name: name}, left, reset}
}

// goes is how many may be sent at once.
func (l *lane) goes(at time.Time) (n int) {
	for {
		if _, ok := l.admit(at); !ok || n == 1000 {
			return n
		}
		n++
	}
}

// What is left of one quota holds until its own window is over, whatever others
// say, and whoever refuses.
func TestLaneKeepsQuotasApart(t *testing.T) {
	f := func(want int, answers ...advice) {
		t.Helper()
		at := today()
		l := newLane(weir.Key{})
		for _, a := range answers {
			n, ok := l.admit(at)
			if !ok {
				t.Fatalf("closed for %v", l.closed(at))
			}
			l.learn(n, a, at, 2*time.Hour)
			at = at.Add(3 * time.Second)
		}
		n, _ := l.admit(at) // the one that goes first, where there was a pause
		l.learn(n, advice{}, at, 2*time.Hour)
		if got := l.goes(at); got != want {
			t.Errorf("%d go, want %d", got, want)
		}
	}
	second, hour := about("s", 4, time.Second), about("h", 5, time.Hour)
	both := advice{stated: []statement{second, hour}}
	f(4, both)
	f(4, advice{stated: []statement{hour, second}})
	f(3, both, advice{stated: []statement{second}}) // that request counts in both
	f(7, both, advice{stated: []statement{about("h", 8, time.Hour)}})
	f(4, both, advice{refused: true, wait: time.Second}) // a refusal counts in none
	f(4, both, advice{refused: true, wait: time.Second, stated: []statement{about("s", 0, time.Second)}})
	f(2, both, advice{refused: true, wait: time.Second, stated: []statement{about("s", 0, time.Second), about("h", 3, time.Hour)}})
	f(1000, both, advice{refused: true, wait: time.Second, stated: []statement{about("h", 0, time.Hour)}}) // its wait goes before its reset
	f(1000, advice{stated: []statement{second}})
}

// Of more quotas than a lane knows, those with the least left matter.
func TestLaneKnowsAFewQuotas(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	learn := func(stated ...statement) {
		n, _ := l.admit(at)
		l.learn(n, advice{stated: stated}, at, time.Hour)
	}
	var many []statement
	for i := range 100 {
		many = append(many, about(fmt.Sprint(i), int64(11+i*37%100), time.Hour))
	}
	learn(many...)
	for _, w := range l.windows {
		if w.least >= 11+mostWindows {
			t.Errorf("it knows of %d that are left", w.least)
		}
	}
	if len(l.windows) != mostWindows {
		t.Fatalf("%d windows", len(l.windows))
	}
	learn(about("new", 0, time.Minute))
	if d := l.closed(at); d != time.Minute {
		t.Errorf("closed for %v", d)
	}
	at = at.Add(time.Minute)
	learn(about("newer", 90, time.Hour), about("newest", 50, time.Hour))
	if got := l.goes(at); got != 9 || len(l.windows) != mostWindows {
		t.Errorf("%d go, %d windows: of one quota eleven were left, and two have gone", got, len(l.windows))
	}
	learn(about("the last", 1000, 2*time.Hour)) // when the others are over
	at = at.Add(time.Hour)
	l.learn(l.sent, advice{stated: []statement{about("the last", 1000, time.Hour)}}, at, time.Hour)
	if !slices.ContainsFunc(l.windows, func(w window) bool { return w.least == 1000 }) {
		t.Errorf("what is over takes the room of what is not: %v", l.windows)
	}
}

// Whoever wants no pause is not slowed down by what the far side says.
func TestLaneDoesNotListen(t *testing.T) {
	at := today()
	for _, most := range []time.Duration{1, leastPause - 1} {
		l := newLane(weir.Key{})
		for _, a := range []advice{{refused: true}, {refused: true, wait: time.Hour}, says(0, time.Hour), {}} {
			n, _ := l.admit(at)
			l.learn(n, a, at, most)
			if got := l.goes(at); got != 1000 || !l.settled(at) {
				t.Errorf("%d go", got)
			}
		}
	}
	l := newLane(weir.Key{})
	n, _ := l.admit(at)
	l.learn(n, says(0, time.Hour), at, leastPause)
	if d := l.closed(at); d != leastPause {
		t.Errorf("closed for %v", d)
	}
}

// One that was to go first and was not sent lets another go first.
func TestLaneTakesBackWhatWasNotSent(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	n, _ := l.admit(at)
	l.learn(n, advice{refused: true, wait: time.Second, stated: []statement{about("h", 3, time.Hour)}}, at, time.Hour)
	at = at.Add(time.Second)
	for range 3 {
		n, ok := l.admit(at)
		if _, second := l.admit(at); !ok || second {
			t.Errorf("the first goes: %t, the second: %t", ok, second)
		}
		l.withdraw(n, at)
	}
	late, _ := l.admit(at)
	l.learn(late, says(1000, time.Hour), at, time.Hour)
	if got := l.goes(at); got != 2 {
		t.Errorf("%d go, want 2: of 3 that were left one was sent", got)
	}

	l = newLane(weir.Key{})
	early, _ := l.admit(at)
	l.withdraw(early, at)
	if got := l.goes(at); got != 1000 {
		t.Errorf("%d go: there was no pause", got)
	}
	l = newLane(weir.Key{})
	early, _ = l.admit(at)
	n, _ = l.admit(at)
	l.learn(n, pause(time.Second), at, time.Hour)
	at = at.Add(time.Second)
	l.admit(at)
	l.withdraw(early, at)
	if d := l.closed(at); d != probeTime {
		t.Errorf("closed for %v: it was not the one that went first", d)
	}
}

// A window that is over before all that it let pass has gone is no pause: nobody goes
// first.
func TestLaneDoesNotPauseForNothing(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	n, _ := l.admit(at)
	l.learn(n, says(5, time.Minute), at, time.Hour)
	if got := l.goes(at.Add(time.Minute)); got != 1000 {
		t.Errorf("%d go", got)
	}
}

// What was sent before a pause says nothing of what is left after it.
func TestLaneBelievesTheFirstAfterAPause(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	late, _ := l.admit(at)
	n, _ := l.admit(at)
	l.learn(n, pause(time.Second), at, time.Hour)
	at = at.Add(time.Second)
	first, _ := l.admit(at)
	l.learn(late, says(1, time.Minute), at, time.Hour)
	l.learn(first, says(9, time.Minute), at, time.Hour)
	if got := l.goes(at); got != 9 {
		t.Errorf("%d go, want 9", got)
	}
}

// A refusal of the one that went first is the next pause, also where it is shorter than
// others would have waited for its answer.
func TestLaneTakesTheNextPauseAsItIs(t *testing.T) {
	at := today()
	l := newLane(weir.Key{})
	for _, d := range []time.Duration{time.Second, 10 * time.Millisecond, time.Minute} {
		n, _ := l.admit(at)
		l.learn(n, pause(d), at, time.Hour)
		if got := l.closed(at); got != d {
			t.Errorf("closed for %v, want %v", got, d)
		}
		at = at.Add(d)
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
			l.learn(n, says(1, time.Minute), at, time.Hour)
		}
		for _, n := range numbers[1:] {
			for l.sent < n {
				l.windows[0].least++ // whatever was left
				l.admit(at)
			}
			l.learn(n, says(50, time.Minute), at, time.Hour)
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
	l.learn(5, says(1000, time.Second), at, time.Hour)
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
