package algorithm_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// A ledger is a sliding window once more, as a list of what was charged: slow, in
// rationals, and without a state that is handed on from window to window.
type ledger struct {
	limit, overdraft int64
	period, tick     micros
	offset           micros // of the grid
	charges          []posting
}

// A posting is units charged in a window, by its number in the grid.
type posting struct{ window, units int64 }

// number is that of the window that counts at an instant: never before the last
// that was charged, as long as that says something.
func (l *ledger) number(now micros) int64 {
	n, _ := new(big.Int).DivMod(big.NewInt(int64(now-l.offset)), big.NewInt(int64(l.period)), new(big.Int))
	if last := len(l.charges) - 1; last >= 0 {
		return max(n.Int64(), l.charges[last].window)
	}
	return n.Int64()
}

func (l *ledger) begins(window int64) micros { return l.offset + micros(window)*l.period }

func (l *ledger) units(window int64) (sum int64) {
	for _, p := range l.charges {
		if p.window == window {
			sum += p.units
		}
	}
	return sum
}

// weighs is all of what was charged in the window that counts, and of the one
// before the part that a period which ends now still covers, in whole ticks.
func (l *ledger) weighs(now micros) *big.Rat {
	n := l.number(now)
	into := max(0, now-l.begins(n))
	into -= into % l.tick
	part := big.NewRat(int64(l.period-into), int64(l.period))
	before := part.Mul(part, new(big.Rat).SetInt64(l.units(n-1)))
	return before.Add(before, new(big.Rat).SetInt64(l.units(n)))
}

func (l *ledger) fits(now micros, cost int64) bool {
	sum := new(big.Rat).SetInt64(cost)
	return sum.Add(sum, l.weighs(now)).Cmp(new(big.Rat).SetInt64(l.limit)) <= 0
}

// judge looks at one instant after the other.
func (l *ledger) judge(now micros, cost int64) algorithm.Verdict {
	if cost > l.limit {
		return algorithm.Verdict{Never: true}
	}
	wait := micros(0)
	for !l.fits(now+wait, cost) {
		wait++
	}
	return algorithm.Verdict{Allowed: wait == 0, RetryAfter: wait}
}

// room is how many units are missing to so many.
func (l *ledger) room(now micros, most int64) int64 {
	n := int64(0)
	for sum := l.weighs(now); sum.Add(sum, big.NewRat(1, 1)).Cmp(new(big.Rat).SetInt64(most)) <= 0; {
		n++
	}
	return n
}

func (l *ledger) level(now micros) (remaining int64, reset micros) {
	for l.weighs(now+reset).Sign() > 0 {
		reset++
	}
	return l.room(now, l.limit), reset
}

func (l *ledger) charge(now micros, units int64) receipt {
	if units < 1 {
		return receipt{}
	}
	n := l.number(now)
	l.charges = append(l.charges, posting{n, units})
	start := l.begins(n)
	return receipt{At: start, Cost: units, Numbers: [2]int64{int64(start), int64(start + l.period)}}
}

func (l *ledger) force(now micros, units int64) receipt {
	return l.charge(now, min(units, l.room(now, l.overdraft)))
}

// refund takes units off the last charges of a window.
func (l *ledger) refund(r receipt, units int64) {
	for i := len(l.charges) - 1; i >= 0; i-- {
		p := &l.charges[i]
		if int64(l.begins(p.window)) == r.Numbers[0] {
			back := min(units, p.units)
			p.units, units = p.units-back, units-back
		}
	}
	if n := len(l.charges); n > 0 {
		if last := l.charges[n-1].window; l.units(last)+l.units(last-1) == 0 {
			l.charges = nil
		}
	}
}

// besideLedger takes a key through steps that d decides, under limits of one period
// in turn, and holds every answer against a ledger.
func besideLedger(t rapid.TB, d dice, l *ledger, limits []*algorithm.SlidingWindow, steps int) {
	t.Helper()
	var s state
	var receipts []receipt
	now := micros(1000)
	for range steps {
		now = max(1, now+micros(d.Int64N(2)*d.Int64N(5))-micros(d.Int64N(3)*d.Int64N(2)*d.Int64N(int64(l.period)+2)))
		if d.Int64N(4) == 0 {
			now += micros(d.Int64N(2 * int64(l.period)))
		}
		w := limits[d.Int64N(int64(len(limits)))]
		l.limit, l.overdraft = w.Capacity(), w.Overdraft()
		m, _ := w.Moment(now, l.offset)
		cost := d.Int64N(l.limit + 2)
		before := s
		got, want := w.Judge(s, m, cost), l.judge(now, cost)
		if got != want {
			t.Fatalf("%+v: %d at %d, state %v: got %+v, want %+v", w, cost, now, s, got, want)
		}
		r, wantReceipt := receipt{}, receipt{}
		switch verb := d.Int64N(8); {
		case verb == 0 && len(receipts) > 0:
			back := receipts[d.Int64N(int64(len(receipts)))]
			units := 1 + d.Int64N(back.Cost)
			s = w.Refund(s, m, back, units)
			l.refund(back, units)
		case verb == 1:
			s, r = w.Force(s, m, cost)
			wantReceipt = l.force(now, cost)
		case verb > 3 && got.Allowed:
			s, r = w.Charge(s, m, cost)
			wantReceipt = l.charge(now, cost)
		}
		left, reset := w.Level(s, m)
		wantLeft, wantReset := l.level(now)
		if r != wantReceipt || left != wantLeft || reset != wantReset || w.Dead(s, now) != (wantReset == 0) {
			t.Fatalf("%+v: %d at %d, state %v, then %v: got %+v, %d left, reset %d, want %+v, %d, %d", w, cost, now, before, s, r, left, reset, wantReceipt, wantLeft, wantReset)
		}
		if r.Cost > 0 {
			receipts = append(receipts[max(0, len(receipts)-6):], r)
		}
	}
}

func sliding(t rapid.TB, limit int64, period micros, overdraft int64) *algorithm.SlidingWindow {
	t.Helper()
	w, err := algorithm.NewSlidingWindow(limit, period, overdraft)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// rapidDice lets rapid decide.
type rapidDice struct{ *rapid.T }

func (d rapidDice) Int64N(n int64) int64 { return rapid.Int64Range(0, n-1).Draw(d.T, "roll") }

func TestSlidingWindowIsTheLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := micros(rapid.Int64Range(1, 12).Draw(t, "period"))
		l := &ledger{period: period, tick: 1, offset: micros(rapid.Int64Range(0, int64(period)-1).Draw(t, "offset"))}
		var limits []*algorithm.SlidingWindow
		for range rapid.IntRange(1, 3).Draw(t, "limits") {
			limit := rapid.Int64Range(1, 8).Draw(t, "limit")
			limits = append(limits, sliding(t, limit, period, rapid.SampledFrom([]int64{0, limit, 3 * limit}).Draw(t, "overdraft")))
		}
		besideLedger(t, rapidDice{t}, l, limits, 60)
	})
}

// FuzzSlidingWindow takes a sliding window, or two in turn, through the steps that
// the bytes spell.
func FuzzSlidingWindow(f *testing.F) {
	f.Add(uint8(3), uint8(2), uint8(5), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add(uint8(9), uint8(1), uint8(7), []byte("a window is over, the next one begins, and the clock runs back, over and over"))
	f.Fuzz(func(t *testing.T, period, one, two uint8, moves []byte) {
		p := micros(period%20) + 1
		l := &ledger{period: p, tick: 1, offset: micros(two) % p}
		limits := []*algorithm.SlidingWindow{sliding(t, int64(one%9)+1, p, 0), sliding(t, int64(two%9)+1, p, int64(two%9)+4)}
		besideLedger(t, &bytesDice{moves}, l, limits, min(len(moves), 100))
	})
}

// The ledger in ticks: those of the engine that the numbers of a limit ask for.
func TestSlidingWindowInTicks(t *testing.T) {
	for _, w := range []*algorithm.SlidingWindow{
		sliding(t, 1_000_000_000_000, 10_000, 0),
		sliding(t, 9_007_199_254_740, 10_000, 0),
		sliding(t, 3, 10_000, 9_007_199_254_740),
	} {
		l := &ledger{limit: w.Capacity(), overdraft: w.Overdraft(), period: 10_000, tick: 10, offset: 7}
		m, _ := w.Moment(200_005, 7)
		s, r := w.Charge(state{}, m, w.Capacity())
		if want := l.charge(m.Now, w.Capacity()); r != want {
			t.Fatalf("receipt %+v, want %+v", r, want)
		}
		passed := false
		for now := micros(200_005); now < 220_100; now += 1 + now%3 {
			m, _ = w.Moment(now, 7)
			for _, cost := range []int64{1, 2, w.Capacity()/1000 + 1, w.Capacity()} {
				if got := w.Judge(s, m, cost).Allowed; got != l.fits(now, cost) {
					t.Fatalf("%+v: %d at %d: got %t", w, cost, now, got)
				}
			}
			if !passed && l.fits(now, 1) { // goes on with both counters in use
				passed = true
				s, _ = w.Charge(s, m, 1)
				l.charge(now, 1)
			}
			_, reset := w.Level(s, m)
			if reset > 0 && l.weighs(now+reset-1).Sign() == 0 || l.weighs(now+reset).Sign() != 0 {
				t.Fatalf("%+v at %d: reset %d", w, now, reset)
			}
		}
		v := w.Judge(s, m, 1)
		if !passed || !v.Allowed {
			t.Errorf("%+v: nothing passed (%t), or not in the end: %+v", w, passed, v)
		}
	}
}

// The tick is the smallest power of ten that keeps products exact, as published.
func TestTicks(t *testing.T) {
	const second, minute, hour, day = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
	f := func(limit int64, ticks ...micros) {
		t.Helper()
		for i, period := range []micros{second, minute, hour, day, 30 * day} {
			w := sliding(t, limit, period, 0)
			m, _ := w.Moment(900*day, 0)
			s, _ := w.Charge(state{}, m, limit)
			// With a whole limit in the window before, one unit is missing until
			// so many ticks of the next one are over.
			wait := w.Judge(s, algorithm.Moment{Now: 900*day + period}, 1).RetryAfter
			want := (period/ticks[i] + micros(limit) - 1) / micros(limit) * ticks[i]
			if wait != want || wait%ticks[i] != 0 {
				t.Errorf("%d per %d µs: a unit after %d µs, want %d", limit, period, wait, want)
			}
			if most := (1<<53 - 1) / int64(period/ticks[i]); w.Overdraft() != min(2*limit, most) {
				t.Errorf("%d per %d µs: overdraft %d, want twice the limit, and %d at most", limit, period, w.Overdraft(), most)
			}
		}
	}
	f(1, 1, 1, 1, 1, 1)
	f(7, 1, 1, 1, 1, 1)
	f(100, 1, 1, 1, 1, 1)
	f(999_983, 1, 1, 1, 10, 1000)
	f(1_000_000, 1, 1, 1, 10, 1000)
	f(1_000_000_000, 1, 10, 1000, 10_000, 1_000_000)
}

func TestSlidingWindowArguments(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 1_000_000, 1_000_000_000_000, 1 << 51, 1<<51 + 1, 1<<52 - 1, 1 << 52, math.MaxInt64}
	accepted := 0
	for _, count := range odd {
		for _, period := range odd {
			for _, overdraft := range odd {
				w, err := algorithm.NewSlidingWindow(count, micros(period), overdraft)
				if err != nil {
					wantField(t, err, "count", "period", "overdraft")
					continue
				}
				accepted++
				if count < 1 || period < 1 || period > 1<<51 || w.Capacity() != count || w.Overdraft() < count || overdraft != 0 && w.Overdraft() != overdraft {
					t.Errorf("%d per %d µs overdraft %d: capacity %d, overdraft %d", count, period, overdraft, w.Capacity(), w.Overdraft())
				}
				checkEdges(t, w, micros(period))
			}
		}
	}
	if accepted < 30 {
		t.Errorf("only %d are accepted", accepted)
	}
}

// checkEdges empties a window at the first and the last instant that there are, and
// wants it to pass again when it says so.
func checkEdges(t *testing.T, w *algorithm.SlidingWindow, period micros) {
	t.Helper()
	for _, now := range []micros{1, period, algorithm.MaxMicros - 1} {
		for _, offset := range []micros{0, period - 1} {
			m, _ := w.Moment(now, offset)
			s, _ := w.Charge(state{}, m, w.Capacity())
			forced, _ := w.Force(s, m, math.MaxInt64)
			for _, s := range []state{s, forced} {
				_, reset := w.Level(s, m)
				v := w.Judge(s, m, w.Capacity())
				if v.Allowed || v.Never || v.RetryAfter != reset || reset <= 0 || reset > 2*period {
					t.Errorf("%+v, state %v at %d: %+v, reset %d", w, s, now, v, reset)
				}
				for _, word := range s {
					if word >= 1<<53 || word <= -1<<53 {
						t.Errorf("%+v at %d: a double does not hold the state %v", w, now, s)
					}
				}
			}
		}
	}
}

func TestSlidingRefusalsSayWhatIsWrong(t *testing.T) {
	f := func(count, period, overdraft int64, want string) {
		t.Helper()
		_, err := algorithm.NewSlidingWindow(count, micros(period), overdraft)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	const second, week = 1_000_000, 604_800_000_000
	f(0, second, 0, `weir: count 0: a limit admits at least 1 unit a period; write "deny" to refuse everything, "unlimited" to limit nothing`)
	f(5, 1<<51+1, 0, "weir: period 2251799813685249: a sliding window lasts at most 71 years; write a shorter one")
	f(9_007_199_254_741, second, 0, "weir: count 9007199254741: too large to count exactly in a sliding window of this period; write at most 9007199254740")
	f(1_000_000, week+1, 0, "weir: count 1000000: too large to count exactly in a sliding window of this period; write at most 14892, or a rounder period")
	f(1<<50, 9990, 0, "weir: count 1125899906842624: too large to count exactly in a sliding window of this period; write at most 901621547021")
	f(1<<50, 10_001, 0, "weir: count 1125899906842624: too large to count exactly in a sliding window of this period; write at most 900629862487, or a rounder period")
	f(1_416_003_655_832, 6361, 0, "weir: count 1416003655832: too large to count exactly in a sliding window of this period; write at most 1416003655831") // of which 6361 are 2^53 - 1
	f(5, second, 4, "weir: overdraft 4: it may be no smaller than the count of 5; leave it out, or raise it")
	f(5, second, 1<<52, "weir: overdraft 4503599627370496: too large to count exactly in a sliding window of this period; write at most 9007199254740")
	f(5, 1, 1<<52, "weir: overdraft 4503599627370496: too large to count exactly in a sliding window of this period; write at most 4503599627370495")
}

// What is told to be the most is accepted, and one more is not.
func TestMostOfASlidingWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := micros(rapid.OneOf(rapid.Int64Range(1, 1<<51), rapid.SampledFrom([]int64{1, 7, 1000, 9990, 10_000, 1_000_000, 3_600_000_000})).Draw(t, "period"))
		_, err := algorithm.NewSlidingWindow(1<<52-1, period, 0)
		most := int64(1<<52 - 1)
		if err != nil {
			refusal, _ := errors.AsType[*algorithm.FieldError](err)
			if _, err := fmt.Sscanf(refusal.Remedy, "write at most %d", &most); err != nil {
				t.Fatal(err)
			}
			if _, err := algorithm.NewSlidingWindow(most+1, period, 0); err == nil {
				t.Fatalf("%d µs: %d is accepted, and %d was said to be the most", period, most+1, most)
			}
		}
		w := sliding(t, most, period, 0)
		if w.Overdraft() < most {
			t.Fatalf("%d per %d µs: overdraft %d", most, period, w.Overdraft())
		}
	})
}

// everySlidingWindow are sliding windows of every size.
func everySlidingWindow() []string {
	return []string{
		"5/s sliding-window", "1000000/day sliding-window", "7/week sliding-window spread", "3 per 7us sliding-window overdraft 4",
		"10000 per 30d sliding-window", "1801439850948198 per 5us sliding-window", "1 per 1us sliding-window", "1000000000/s sliding-window",
		"4 per 2251799813685247us sliding-window spread", "3 per 2251799813685248us sliding-window", "9 per 1000000000s sliding-window",
		"9007199254740 per 10ms sliding-window", "1000000000 per 30d sliding-window spread", "100/min sliding-window overdraft 1000000000",
	}
}

func TestSlidingWindowIsTheOracle(t *testing.T) {
	texts := everySlidingWindow()
	for i, text := range texts {
		newWalk(t, roll(uint64(i)), window(t, text)).run(steps() / 4 / len(texts))
	}
	d := roll(97)
	const walks = 100
	for range walks {
		texts := [][]string{
			{"3 per 7us sliding-window", "900 per 7us sliding-window", "1 per 7us sliding-window overdraft 9"},
			{"1000000000/s sliding-window", "7/s sliding-window", "999983/s sliding-window overdraft 9007199254740"},
			{"9007199254740 per 10ms sliding-window", "7 per 10ms sliding-window", "1000000 per 10ms sliding-window"},
		}[d.Int64N(3)]
		var served []*weir.Limit
		for _, text := range texts {
			served = append(served, window(t, text))
		}
		newWalk(t, d, served...).run(steps() / 4 / walks)
	}
}
