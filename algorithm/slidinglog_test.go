package algorithm_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/algorithm"
)

func logOf(t rapid.TB, limit int64, period micros, overdraft int64) *algorithm.SlidingLog {
	t.Helper()
	l, err := algorithm.NewSlidingLog(limit, period, overdraft)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A diary is a sliding log once more, unit by unit: the instant of each, in order.
// It sums nothing and computes no wait.
type diary struct {
	period micros
	units  []micros
}

// instant is when something happens: never before the newest unit.
func (d *diary) instant(now micros) micros {
	if n := len(d.units); n > 0 {
		return max(now, d.units[n-1])
	}
	return now
}

// count is how many units are younger than a period.
func (d *diary) count(now micros) (n int64) {
	now = d.instant(now)
	for _, at := range d.units {
		if now < at+d.period {
			n++
		}
	}
	return n
}

// wait is when so many more fit, by looking at one instant after the other.
func (d *diary) wait(now micros, cost, limit int64) (wait micros) {
	for d.count(now+wait)+cost > limit {
		wait++
	}
	return wait
}

func (d *diary) charge(now micros, cost int64) receipt {
	if cost < 1 {
		return receipt{}
	}
	at := d.instant(now)
	d.units = append(d.units, slices.Repeat([]micros{at}, int(cost))...)
	return receipt{At: at, Cost: cost}
}

// refund strikes units of an instant out, as long as they count. It gives how many.
func (d *diary) refund(now micros, r receipt, units int64) (struck int64) {
	counts := d.instant(now) < r.At+d.period
	d.units = slices.DeleteFunc(d.units, func(at micros) bool {
		strike := counts && at == r.At && struck < min(units, r.Cost)
		if strike {
			struck++
		}
		return strike
	})
	return struck
}

// drop strikes out what is over at an instant, where a unit of another was newest.
func (d *diary) drop(now, newest micros) {
	now = max(now, newest, d.instant(now))
	d.units = slices.DeleteFunc(d.units, func(at micros) bool { return at+d.period <= now })
}

// besideDiary takes a key through steps that dice decide, under limits of one period
// in turn, and holds every answer against a diary.
func besideDiary(t rapid.TB, d dice, limits []*algorithm.SlidingLog, period micros, steps int) {
	t.Helper()
	var list pieces
	var receipts []receipt
	book := &diary{period: period}
	now := micros(1000)
	for range steps {
		now = max(1, now+micros(d.Int64N(2)*d.Int64N(4))-micros(d.Int64N(3)*d.Int64N(2)*d.Int64N(int64(period)+2)))
		if d.Int64N(4) == 0 {
			now += micros(d.Int64N(2 * int64(period)))
		}
		l := limits[d.Int64N(int64(len(limits)))]
		m, s := list.moment(now), list.tally(l, now)
		cost := d.Int64N(l.Capacity() + 2)
		got, want := l.Judge(s, m, cost), algorithm.Verdict{Never: true}
		if cost <= l.Capacity() {
			wait := book.wait(now, cost, l.Capacity())
			want = algorithm.Verdict{Allowed: wait == 0, RetryAfter: wait}
		}
		if got != want {
			t.Fatalf("%+v: %d at %d, %v: got %+v, want %+v", l, cost, now, list, got, want)
		}
		after, r, wantReceipt := s, receipt{}, receipt{}
		switch verb := d.Int64N(8); {
		case verb == 0 && len(receipts) > 0:
			back := receipts[d.Int64N(int64(len(receipts)))]
			units := 1 + d.Int64N(back.Cost)
			after = l.Refund(s, m, back, units)
			struck := book.refund(now, back, units)
			if s[1]-after[1] != struck {
				t.Fatalf("%+v: %d of %+v come back at %d, %v: got %v, want %d less", l, units, back, now, list, after, struck)
			}
			if struck > 0 { // what is over then is dropped, for the newest may be gone
				list = list.dropped(l.Over(s, now)).struck(back.At, struck)
				book.drop(now, back.At)
			}
		case verb == 1:
			after, r = l.Force(s, m, cost)
			wantReceipt = book.charge(now, min(cost, l.Overdraft()-book.count(now)))
			list = list.follow(s, after)
		case verb > 3 && got.Allowed:
			after, r = l.Charge(s, m, cost)
			wantReceipt = book.charge(now, cost)
			list = list.follow(s, after)
		}
		if again := list.tally(l, now); r != wantReceipt || after != again {
			t.Fatalf("%+v: %d at %d, state %v: got %v, %+v, want %v, %+v", l, cost, now, s, after, r, again, wantReceipt)
		}
		checkLevel(t, l, list, book, now)
		if r.Cost > 0 {
			receipts = append(receipts[max(0, len(receipts)-6):], r)
		}
	}
}

// follow adds what a step has charged.
func (l pieces) follow(before, after state) pieces {
	if units := after[1] - before[1]; units > 0 {
		return l.add(micros(after[0]), units)
	}
	return l
}

// dropped is the list without what is over.
func (l pieces) dropped(over micros) pieces {
	return slices.DeleteFunc(l, func(p piece) bool { return p.at <= over })
}

// struck takes units off the item of an instant.
func (l pieces) struck(at micros, units int64) pieces {
	for i := range l {
		if l[i].at == at {
			l[i].units -= units
		}
	}
	return slices.DeleteFunc(l, func(p piece) bool { return p.units == 0 })
}

// checkLevel holds what is left, and until when, against a diary.
func checkLevel(t rapid.TB, l *algorithm.SlidingLog, list pieces, book *diary, now micros) {
	t.Helper()
	s := list.tally(l, now)
	left, reset := l.Level(s, list.moment(now))
	if want, wait := max(0, l.Capacity()-book.count(now)), book.wait(now, 0, 0); left != want || reset != wait || l.Dead(s, now) != (wait == 0) {
		t.Fatalf("%+v at %d, %v: %d left, reset %d, dead %t; want %d, %d", l, now, list, left, reset, l.Dead(s, now), want, wait)
	}
}

func TestSlidingLogIsTheDiary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := micros(rapid.Int64Range(1, 12).Draw(t, "period"))
		var limits []*algorithm.SlidingLog
		for range rapid.IntRange(1, 3).Draw(t, "limits") {
			limit := rapid.Int64Range(1, 8).Draw(t, "limit")
			limits = append(limits, logOf(t, limit, period, rapid.SampledFrom([]int64{0, limit, 3 * limit}).Draw(t, "overdraft")))
		}
		besideDiary(t, rapidDice{t}, limits, period, 60)
	})
}

// FuzzSlidingLog takes a log, under two limits in turn, through the steps that the
// bytes spell.
func FuzzSlidingLog(f *testing.F) {
	f.Add(uint8(3), uint8(2), uint8(5), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add(uint8(9), uint8(1), uint8(7), []byte("charges are over one by one, and the clock runs back, over and over"))
	f.Fuzz(func(t *testing.T, period, one, two uint8, moves []byte) {
		p := micros(period%20) + 1
		limits := []*algorithm.SlidingLog{logOf(t, int64(one%9)+1, p, 0), logOf(t, int64(two%9)+1, p, int64(two%9)+4)}
		besideDiary(t, &bytesDice{moves}, limits, p, min(len(moves), 100))
	})
}

// Of all that can be asked in a few instants no more than L·ceil(t/P) units pass, and
// so many can.
func TestWorstAdmissionOfSlidingLog(t *testing.T) {
	for limit := int64(1); limit <= 3; limit++ {
		for period := micros(1); period <= 5; period++ {
			l := logOf(t, limit, period, 0)
			worst := [9]int64{}
			mostOfLog(l, nil, 100, nil, worst[:])
			for i := 1; i < len(worst); i++ {
				want := limit * ((int64(i) + int64(period) - 1) / int64(period))
				if worst[i] != want || l.Most(micros(i)) != want {
					t.Errorf("%d per %d µs: %d pass in %d µs, Most says %d, want %d", limit, period, worst[i], i, l.Most(micros(i)), want)
				}
			}
		}
	}
}

// mostOfLog asks for everything at each instant, and sums up what has passed in each
// stretch that ends there.
func mostOfLog(l *algorithm.SlidingLog, list pieces, now micros, passed []int64, worst []int64) {
	sum := int64(0)
	for i := range passed {
		sum += passed[len(passed)-1-i]
		worst[i+1] = max(worst[i+1], sum)
	}
	if len(passed) == len(worst)-1 {
		return
	}
	for cost := range l.Capacity() + 1 {
		m, s := list.moment(now), list.tally(l, now)
		if !l.Judge(s, m, cost).Allowed {
			break
		}
		after, _ := l.Charge(s, m, cost)
		mostOfLog(l, slices.Clone(list).follow(s, after), now+1, append(slices.Clone(passed), cost), worst)
	}
}

// The bound holds whatever the readings of the clock are, where each stands at least
// at the latest at which something passed.
func TestLogBoundUnderAnyClock(t *testing.T) {
	d, met := roll(12), 0
	for range steps() / 400 {
		limit, period := 1+d.Int64N(9), micros(1+d.Int64N(12))
		l := logOf(t, limit, period, 0)
		var list pieces
		for now, i := micros(1000), 0; i < 120; i++ {
			now = max(1, now+micros(d.Int64N(9))-4)
			m, s := list.moment(now), list.tally(l, now)
			if cost := 1 + d.Int64N(limit); l.Judge(s, m, cost).Allowed {
				after, _ := l.Charge(s, m, cost)
				list = list.follow(s, after)
			}
		}
		for i, first := range list {
			sum := int64(0)
			for _, last := range list[i:] {
				sum += last.units
				most := limit * (int64(last.at-first.at)/int64(period) + 1)
				if sum > most {
					t.Fatalf("%d per %d µs: %d units from %d to %d", limit, period, sum, first.at, last.at)
				}
				if sum == most {
					met++
				}
			}
		}
	}
	if met < steps()/400 {
		t.Errorf("the bound is met %d times only", met)
	}
}

// Without a list nothing can be named but the end, which is no wait too short.
func TestSlidingLogWithoutItsList(t *testing.T) {
	l := logOf(t, 5, 100, 0)
	s := state{1050, 5}
	if v := l.Judge(s, at(1060), 1); v != (algorithm.Verdict{RetryAfter: 90}) {
		t.Errorf("%+v", v)
	}
	if got := l.Refund(s, at(1060), receipt{At: 1050, Cost: 5}, 5); got != s {
		t.Errorf("%v", got)
	}
}

// Charges that are over hold nobody back, whether a store has dropped them or not: what
// was charged a period ago is over.
func TestEndedChargesHoldNobodyBack(t *testing.T) {
	l := logOf(t, 3, 100, 0)
	s := state{1000, 3} // of a list that nobody has looked at since
	f := func(now micros, left int64, reset, wait micros) {
		t.Helper()
		gotLeft, gotReset := l.Level(s, at(now))
		v := l.Judge(s, at(now), 3)
		if gotLeft != left || gotReset != reset || v != (algorithm.Verdict{Allowed: wait == 0, RetryAfter: wait}) || l.Dead(s, now) != (wait == 0) {
			t.Errorf("at %d: %d left, reset %d, %+v, dead %t", now, gotLeft, gotReset, v, l.Dead(s, now))
		}
	}
	f(999, 0, 101, 101)
	f(1099, 0, 1, 1)
	f(1100, 3, 0, 0)
	f(1101, 3, 0, 0)
	if after, r := l.Charge(s, at(1100), 1); after != (state{1100, 1}) || r != (receipt{At: 1100, Cost: 1}) {
		t.Errorf("behind three that are over one makes %v, %+v", after, r)
	}
	if !l.Dead(state{}, 1) {
		t.Error("a log of nothing is not dead")
	}
}

// No units, and fewer than none, give nothing back to a log, and no receipt gives more
// than it took.
func TestRefundOfOddUnitsOfALog(t *testing.T) {
	l := logOf(t, 9, 100, 0)
	list, s := pieces{{1000, 2}, {1050, 3}}, state{1050, 5}
	f := func(units, cost int64, want state) {
		t.Helper()
		if got := l.Refund(s, list.moment(1060), receipt{At: 1050, Cost: cost}, units); got != want {
			t.Errorf("%d units of %d: got %v, want %v", units, cost, got, want)
		}
	}
	f(0, 3, s)
	f(-1, 3, s)
	f(math.MinInt64, 3, s)
	f(3, 0, s)
	f(3, -1, s)
	f(1, 3, state{1050, 4})
	f(3, 3, state{1000, 2})
	f(math.MaxInt64, 3, state{1000, 2})
	f(math.MaxInt64, 2, state{1050, 3})
	f(math.MaxInt64, math.MaxInt64, state{1000, 2})
	list, s = pieces{{1050, 3}}, state{1050, 3}
	f(3, 3, state{}) // nothing is left
}

// A log of nothing is none, whenever its last charge was: a clock that runs back charges
// at its own time.
func TestLogOfNothing(t *testing.T) {
	l := logOf(t, 3, 100, 0)
	s := state{1000, 0}
	if after, r := l.Charge(s, at(950), 2); after != (state{950, 2}) || r != (receipt{At: 950, Cost: 2}) || !l.Dead(s, 950) {
		t.Errorf("2 in nothing make %v, %+v; dead %t", after, r, l.Dead(s, 950))
	}
}

// A log of the largest numbers is accepted, holds a key for a period, and lets nothing
// through in no time.
func TestSlidingLogBounds(t *testing.T) {
	f := func(count int64, period micros, overdraft int64) {
		t.Helper()
		l := logOf(t, count, period, overdraft)
		if one, full := l.Pins(); one != period || full != period {
			t.Errorf("%+v: pinned for %d and %d", l, one, full)
		}
		if l.Most(math.MinInt64) != 0 || l.Most(0) != 0 || l.Most(1) != count || l.Most(period) != count || l.Most(period+1) != 2*count {
			t.Errorf("%+v: at most %d in 0, %d in 1, %d in a period, %d in more", l, l.Most(0), l.Most(1), l.Most(period), l.Most(period+1))
		}
		if s := (state{1000, 1}); l.Touch(s, at(1)) != s {
			t.Errorf("%+v: to touch %v makes %v of it", l, s, l.Touch(s, at(1)))
		}
	}
	f(1, 2, 0)
	f(4095, 2, 0)
	f(5, 2, 4095)
	f(4095, 1<<52-1, 4095)
}

func TestSlidingLogArguments(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 4094, 4095, 4096, 1 << 51, 1<<52 - 1, 1 << 52, math.MaxInt64}
	accepted := 0
	for _, count := range odd {
		for _, period := range odd {
			for _, overdraft := range odd {
				l, err := algorithm.NewSlidingLog(count, micros(period), overdraft)
				if err != nil {
					wantField(t, err, "count", "period", "overdraft")
					continue
				}
				accepted++
				if want := max(count, overdraft); l.Capacity() != count || l.Overdraft() != want || int64(l.Entries()) != want || overdraft < 0 || want > algorithm.MostEntries {
					t.Errorf("%d per %d µs overdraft %d: capacity %d, overdraft %d, %d entries", count, period, overdraft, l.Capacity(), l.Overdraft(), l.Entries())
				}
				checkLogEdges(t, l, micros(period))
			}
		}
	}
	if accepted < 30 {
		t.Errorf("only %d are accepted", accepted)
	}
}

// checkLogEdges empties a log at the first and the last instant that there are.
func checkLogEdges(t *testing.T, l *algorithm.SlidingLog, period micros) {
	t.Helper()
	for _, now := range []micros{1, period, algorithm.MaxMicros - 1} {
		s, r := l.Charge(state{}, at(now), l.Capacity())
		list := pieces{{now, l.Capacity()}}
		v := l.Judge(s, list.moment(now), 1)
		if v != (algorithm.Verdict{RetryAfter: period}) || r.At != now || s[0]+int64(period) >= 1<<53 {
			t.Errorf("%+v at %d: %+v, %+v, state %v", l, now, v, r, s)
		}
		if got := l.Refund(s, list.moment(now), r, math.MaxInt64); got != (state{}) {
			t.Errorf("%+v at %d: %v is left of what came back", l, now, got)
		}
	}
}

func TestSlidingLogRefusalsSayWhatIsWrong(t *testing.T) {
	f := func(count, period, overdraft int64, want string) {
		t.Helper()
		_, err := algorithm.NewSlidingLog(count, micros(period), overdraft)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	f(0, 1, 0, `weir: count 0: a limit admits at least 1 unit a period; write "deny" to refuse everything, "unlimited" to limit nothing`)
	f(4096, 1, 0, "weir: count 4096: a sliding log remembers each charge, and has room for 4095; write at most 4095, or sliding-window, which counts without remembering")
	f(5, 1<<52, 0, "weir: period 4503599627370496: a period lasts at most 142 years")
	f(5, 1, 4, "weir: overdraft 4: it may be no smaller than the count of 5; leave it out, or raise it")
	f(5, 1, 4096, "weir: overdraft 4096: a sliding log remembers each charge, and has room for 4095; write at most 4095")
}
