package algorithm_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/storetest"
)

type (
	micros  = algorithm.Micros
	state   = algorithm.State
	receipt = algorithm.Receipt
)

// steps is how many random steps a test walks.
func steps() int {
	switch {
	case os.Getenv("WEIR_LONG") == "1":
		return 1_000_000
	case testing.Short():
		return 20_000
	}
	return 200_000
}

// dice decides what a walk does next: a random generator, or the bytes of a
// fuzzer.
type dice interface {
	// Int64N gives 0 to n-1.
	Int64N(n int64) int64
}

func roll(seed uint64) dice { return rand.New(rand.NewPCG(seed, 11)) }

// bytesDice reads decisions from bytes; when they have run out it gives 0.
type bytesDice struct{ rest []byte }

func (d *bytesDice) Int64N(n int64) int64 {
	v, size := uint64(0), 1
	for ; n > 1<<(8*size) && size < 8; size++ {
	}
	for ; size > 0 && len(d.rest) > 0; size-- {
		v, d.rest = v<<8|uint64(d.rest[0]), d.rest[1:]
	}
	return int64(v % uint64(n))
}

// A walk takes a key through random steps, under one limit or several in turn,
// beside the oracle.
type walk struct {
	testing.TB
	dice
	limits []*weir.Limit
	key    weir.Key
	oracle *storetest.Oracle

	states   map[[16]byte]state // by the identity of the limit
	now      micros
	latest   micros
	back     micros // the furthest that the clock runs back
	unit     micros // about the time of a unit
	receipts []receipt
	soon     []micros
	edges    *weir.Edges
}

// started is where walks begin, in 2026.
const started = micros(1_796_034_366_123_456)

func newWalk(tb testing.TB, d dice, limits ...*weir.Limit) *walk {
	s := limits[0].Spec()
	unit := max(1, micros(s.Period/time.Microsecond)/micros(s.Count))
	return &walk{TB: tb, dice: d, limits: limits, states: map[[16]byte]state{}, key: weir.Key{15: 7}, oracle: storetest.NewOracle(), now: started, latest: started, back: algorithm.MaxMicros, unit: unit}
}

// limit compiles a Spec under one name for all of its family.
func limit(tb testing.TB, s weir.Spec) *weir.Limit {
	tb.Helper()
	l, err := weir.NewLimit("l", s)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func bucket(tb testing.TB, count, period, burst, overdraft int64) *weir.Limit {
	tb.Helper()
	return limit(tb, weir.Spec{Count: count, Period: time.Duration(period) * time.Microsecond, Burst: burst, Overdraft: overdraft})
}

func window(tb testing.TB, text string) *weir.Limit {
	tb.Helper()
	l, err := weir.ParseLimit("l", text)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// run walks so many steps; the first difference ends it.
func (w *walk) run(steps int) {
	w.Helper()
	for i := 0; i < steps && !w.Failed(); i++ {
		w.turn()
		l := w.limits[w.Int64N(int64(len(w.limits)))]
		switch w.Int64N(8) {
		case 0:
			w.refund(l)
		case 1:
			w.force(l)
		case 2:
			w.peek(l)
		default:
			w.take(l)
		}
	}
}

// turn moves the clock: not at all, a little, to where something changes, far,
// and back.
func (w *walk) turn() {
	switch w.Int64N(16) {
	case 0, 1:
		w.now += 1 + micros(w.Int64N(3))
	case 2, 3, 4:
		if n := len(w.soon); n > 0 {
			w.now = w.soon[w.Int64N(int64(n))]
		}
	case 5, 6:
		w.now += micros(w.Int64N(3*int64(w.unit) + 1))
	case 7:
		w.now += micros(w.Int64N(100*int64(min(w.unit, 1<<45)) + 1))
	case 8:
		w.now -= micros(w.Int64N(3*int64(w.unit) + 1))
	case 9:
		if w.Int64N(20) == 0 {
			w.now -= micros(w.Int64N(int64(w.back)))
		}
	case 10:
		if w.Int64N(200) == 0 {
			w.now = algorithm.MaxMicros - 1 - micros(w.Int64N(1000))
			w.states, w.soon, w.receipts = map[[16]byte]state{}, nil, nil
			for _, l := range w.limits {
				w.oracle.Reset(l, w.key)
			}
		}
	}
	w.now = min(max(w.now, w.latest-w.back, 1), algorithm.MaxMicros-1)
	w.latest = max(w.latest, w.now)
}

// cost is small as a rule, and often what is left or one beside it.
func (w *walk) cost(l *weir.Limit, left int64) int64 {
	capacity := l.Capacity()
	switch w.Int64N(16) {
	case 0, 1, 2, 3, 4:
		return 1
	case 5, 6:
		return 1 + w.Int64N(min(capacity, 10))
	case 7, 8:
		return 1 + w.Int64N(capacity)
	case 9, 10, 11, 12:
		return max(1, left+w.Int64N(3)-1)
	case 13:
		return capacity
	case 14:
		return capacity + 1
	}
	return math.MaxInt64 - w.Int64N(3)
}

// moment is when a step happens, by the limit's own grid.
func (w *walk) moment(l *weir.Limit) algorithm.Moment {
	w.edges = nil
	if l.Spec().Zone != "" {
		length := 7 * w.unit
		first := w.now - w.now%length - length + micros(w.Int64N(2)*w.Int64N(3))
		if first+length > w.now {
			first -= length
		}
		w.edges = &weir.Edges{first, first + length, first + 2*length, first + 3*length}
	}
	m, ok := l.Moment(w.now, &weir.Take{Limit: l, Key: w.key, Edges: w.edges})
	if !ok {
		w.Fatalf("the edges %v do not hold %d", w.edges, w.now)
	}
	return m
}

// ask asks the oracle.
func (w *walk) ask(l *weir.Limit, cost int64, how weir.How) weir.Decision {
	_, out, err := w.oracle.Take(w.now, []weir.Take{{Limit: l, Key: w.key, Cost: cost, How: how, Edges: w.edges}})
	if err != nil {
		w.Fatal(err)
	}
	return out[0]
}

func (w *walk) take(l *weir.Limit) {
	m := w.moment(l)
	left, _ := l.Algorithm().Level(w.states[l.ID()], m)
	cost := w.cost(l, left)
	before := w.states[l.ID()]
	s, v, r := algorithm.Step(l.Algorithm(), w.states[l.ID()], m, cost)
	w.states[l.ID()] = s
	got := weir.Decision{Allowed: v.Allowed, Never: v.Never, RetryAfter: v.RetryAfter, Delay: v.Delay, Granted: r.Cost, Receipt: r}
	want := w.ask(l, cost, 0)
	w.compare("take", l, m, before, cost, got, want)
	if r.Cost > 0 {
		w.receipts = append(w.receipts, r)
		w.receipts = w.receipts[max(0, len(w.receipts)-20):]
	}
	w.visit(v.RetryAfter)
	w.visit(v.Delay)
	w.visit(want.ResetAfter)
}

func (w *walk) peek(l *weir.Limit) {
	m := w.moment(l)
	left, _ := l.Algorithm().Level(w.states[l.ID()], m)
	cost := w.cost(l, left) * w.Int64N(2)
	v := l.Algorithm().Judge(w.states[l.ID()], m, cost)
	got := weir.Decision{Allowed: v.Allowed, Never: v.Never, RetryAfter: v.RetryAfter, Delay: v.Delay}
	want := w.ask(l, cost, weir.Peek)
	want.Granted = 0
	w.compare("peek", l, m, w.states[l.ID()], cost, got, want)
	w.visit(v.RetryAfter)
}

func (w *walk) force(l *weir.Limit) {
	m := w.moment(l)
	left, _ := l.Algorithm().Level(w.states[l.ID()], m)
	cost := w.cost(l, left)
	before := w.states[l.ID()]
	s, r := l.Algorithm().Force(l.Algorithm().Touch(w.states[l.ID()], m), m, cost)
	w.states[l.ID()] = s
	got := weir.Decision{Allowed: true, Granted: r.Cost, Receipt: r}
	w.compare("force", l, m, before, cost, got, w.ask(l, cost, weir.Force))
	if r.Cost > 0 {
		w.receipts = append(w.receipts, r)
	}
}

func (w *walk) refund(l *weir.Limit) {
	n := len(w.receipts)
	if n == 0 {
		return
	}
	m, r, before := w.moment(l), w.receipts[w.Int64N(int64(n))], w.states[l.ID()]
	units := 1 + w.Int64N(r.Cost)
	if w.Int64N(16) == 0 { // the same rate in other terms
		r.Numbers[0], r.Numbers[1] = r.Numbers[0]*2, r.Numbers[1]*2
	}
	w.states[l.ID()] = l.Algorithm().Refund(w.states[l.ID()], m, r, units)
	if err := w.oracle.Return(w.now, []weir.Return{{Limit: l, Key: w.key, Receipt: r, Units: units}}); err != nil {
		w.Fatal(err)
	}
	want := w.ask(l, 0, weir.Peek)
	w.compare("refund", l, m, before, units, weir.Decision{Allowed: want.Allowed, RetryAfter: want.RetryAfter}, want)
}

// visit notes an instant to come back at, and the one before.
func (w *walk) visit(wait micros) {
	if wait > 0 {
		w.soon = append(w.soon, w.now+wait, w.now+wait-1)
		w.soon = w.soon[max(0, len(w.soon)-8):]
	}
}

// compare holds what the engine says against the oracle.
func (w *walk) compare(verb string, l *weir.Limit, m algorithm.Moment, before state, cost int64, got, want weir.Decision) {
	w.Helper()
	got.Remaining, got.ResetAfter = l.Algorithm().Level(w.states[l.ID()], m)
	if got != want {
		w.Errorf("%s of %d under %s at %+v, state %v:\n got %+v\nwant %+v", verb, cost, l, m, before, got, want)
	}
	for _, word := range w.states[l.ID()] {
		if word >= 1<<53 || word <= -1<<53 {
			w.Errorf("%s of %d under %s at %+v: a double does not hold the state %v", verb, cost, l, m, w.states[l.ID()])
		}
	}
}
