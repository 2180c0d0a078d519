package algorithm

import "fmt"

// SlidingWindow admits Limit units in a window that slides along, by two
// counters: what was charged in the present window of a grid, and what was
// charged in the one before, which weighs less the further the present one has
// come.
//
// Formula: the state is the window's start and end, the units counted in it and
// those counted in the window before. With e the ticks since its start and Q
// those of a period, cost c passes iff count + before·(Q - e)/Q + c ≤ Limit,
// rounded nowhere. A refusal writes nothing. The window never runs back: a
// reading of the clock before its start stands at its start.
//
// A tick is the smallest power of ten µs that divides the period and keeps
// Limit·Q below 2^53 (the Overdraft's, where that is given): 1 µs for everyday
// limits, 10 µs for a million a day, at most a thousandth of the period. Time
// within a tick counts as its beginning, so that a coarser one admits no more.
//
// Bound: in any t consecutive microseconds at most Limit + floor(Limit·(t-1)/P)
// units, P being the period. Between charges what is counted falls by before/P a
// microsecond, which is no more than Limit/P; it stands at 0 or above in the
// beginning and at Limit or below in the end; so no more was charged than Limit
// and what has fallen. It is nearly attained: a whole Limit at the end of a
// window and, as that weighs less, one unit after the other. Settlements above
// the Limit come on top, and a clock that jumps ahead by J adds at most
// min(Limit, Limit·J/P).
//
// The wait that a refusal names is exact: a cost passes from then on, and not a
// microsecond earlier.
//
// Changed numbers: both counts are kept, whatever the limit was; a state that was
// written under another period says nothing. A state's windows follow each other
// from its own start for as long as it is alive, and a fresh one begins with the
// window of its moment: where a grid has moved, no count is lost.
//
// Source: the counter of two windows that proxies use for an estimate; here it
// is the rule itself, in integers. The bound is exhaustive over small cases.
type SlidingWindow struct {
	limit     int64
	overdraft int64
	period    Micros
	tick      Micros
	ticks     int64 // of a period
}

// NewSlidingWindow compiles limit units per sliding window of the given period,
// which is at most 2^51 µs (71 years). Overdraft is the most that Force may leave
// counted, at least limit; 0 means twice the limit, or the most that can be
// accepted with the limit's own tick where that is less. Errors are *FieldError
// and name what would be accepted.
func NewSlidingWindow(limit int64, period Micros, overdraft int64) (*SlidingWindow, error) {
	if err := checkRate(limit, period); err != nil {
		return nil, err
	}
	if period > MaxMicros/2 {
		return nil, refuse("period", period, "a sliding window lasts at most 71 years", "write a shorter one")
	}
	most, remedy := mostSliding(period)
	if limit > most {
		return nil, refuse("count", limit, "too large to count exactly in a sliding window of this period", remedy)
	}
	if overdraft != 0 && overdraft < limit {
		return nil, refuse("overdraft", overdraft, fmt.Sprintf("it may be no smaller than the count of %d", limit), "leave it out, or raise it")
	}
	if overdraft > most {
		return nil, refuse("overdraft", overdraft, "too large to count exactly in a sliding window of this period", remedy)
	}
	tick := tickFor(max(limit, overdraft), period)
	if overdraft == 0 {
		overdraft = min(2*limit, exactUnits(period/tick))
	}
	return &SlidingWindow{limit: limit, overdraft: overdraft, period: period, tick: tick, ticks: int64(period / tick)}, nil
}

// fewestTicks is how many ticks a period has at least, where they are longer than
// 1 µs: what was counted before weighs too much by a thousandth at most.
const fewestTicks = 1000

// coarser reports whether a tick ten times as long divides the period well.
func coarser(period, tick Micros) bool {
	return period%(10*tick) == 0 && period/(10*tick) >= fewestTicks
}

// exactUnits is how many units can be counted in a period of so many ticks.
func exactUnits(ticks Micros) int64 {
	return min((exactDouble-1)/int64(ticks), int64(MaxMicros)-1)
}

// mostSliding is the most units that a sliding window of a period can count, with
// the coarsest tick, and how that is told.
func mostSliding(period Micros) (most int64, remedy string) {
	tick := Micros(1)
	for coarser(period, tick) {
		tick *= 10
	}
	most = exactUnits(period / tick)
	remedy = fmt.Sprintf("write at most %d", most)
	if period/tick >= 10*fewestTicks { // it ends in few zeros
		remedy += ", or a rounder period"
	}
	return most, remedy
}

// tickFor is the shortest tick in which so many units can be counted.
func tickFor(units int64, period Micros) Micros {
	tick := Micros(1)
	for units > exactUnits(period/tick) && coarser(period, tick) {
		tick *= 10
	}
	return tick
}

// Moment places now in the epoch's grid, shifted by offset (0 ≤ offset <
// period). ok is always true.
func (w *SlidingWindow) Moment(now, offset Micros) (m Moment, ok bool) {
	return gridMoment(now, offset, w.period), true
}

// Family is SlidingWindowFamily.
func (w *SlidingWindow) Family() Family { return SlidingWindowFamily }

// Capacity is the limit.
func (w *SlidingWindow) Capacity() int64 { return w.limit }

// Overdraft is the most that Force may leave counted, what the window before
// weighs included.
func (w *SlidingWindow) Overdraft() int64 { return w.overdraft }

// Most is Limit + floor(Limit·(t-1)/P).
func (w *SlidingWindow) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	return saturated(w.limit, int64(t)-1, w.limit, int64(w.period))
}

// Pins are two periods, whatever was charged: what was charged at the very
// beginning of a window weighs to the end of the next.
func (w *SlidingWindow) Pins() (one, full Micros) { return 2 * w.period, 2 * w.period }

// counters are a window, what was counted in it, and what was counted in the
// window before.
type counters struct {
	start, end    Micros
	count, before int64
}

func (s State) counters() counters { return counters{Micros(s[0]), Micros(s[1]), s[2], s[3]} }

func (v counters) state() State { return State{int64(v.start), int64(v.end), v.count, v.before} }

// nothing reports that there is nothing counted.
func (v counters) nothing() bool { return v.count == 0 && v.before == 0 }

// current are the counters at m. Those of a stored window are handed on to the
// next one when it is over; one that lies ahead wins over the clock.
func (w *SlidingWindow) current(s State, m Moment) counters {
	v := s.counters()
	foreign := v.end-v.start != w.period
	if v.end <= m.Now {
		v = counters{start: v.end, end: v.end + w.period, before: v.count}
	}
	if foreign || v.end <= m.Now || v.nothing() {
		return counters{start: m.Start, end: m.Start + w.period}
	}
	return v
}

// fades is how long after the end of a window the units counted in it weigh no
// more than room, which is less.
func (w *SlidingWindow) fades(units, room int64) Micros {
	return Micros(w.ticks-room*w.ticks/units) * w.tick
}

// opens is the instant from which on cost units pass, without other traffic; 0
// where nothing is in their way.
func (w *SlidingWindow) opens(v counters, cost int64) Micros {
	room := w.limit - cost - v.count
	switch {
	case room >= v.before:
		return 0
	case room >= 0:
		return v.start + w.fades(v.before, room)
	}
	return v.end + w.fades(v.count, w.limit-cost)
}

// left is how many more units may be counted until there are so many. No product
// is larger than most·Q: where before·(Q - e) would be, nothing is left.
func (w *SlidingWindow) left(v counters, now Micros, most int64) int64 {
	room := most - v.count
	if room < 0 || room < v.before && now < v.start+w.fades(v.before, room) {
		return 0
	}
	e := int64(max(0, now-v.start) / w.tick)
	weighs := v.before * (w.ticks - e)
	room -= weighs / w.ticks
	if weighs%w.ticks > 0 {
		room--
	}
	return room
}

// Touch leaves a state as it is: counts are judged by whatever the limit is.
func (w *SlidingWindow) Touch(s State, _ Moment) State { return s }

// Judge says whether cost more units fit. The wait is until what is counted
// weighs so little that they do, in this window, in the next one, or when that
// is over.
func (w *SlidingWindow) Judge(s State, m Moment, cost int64) Verdict {
	if cost > w.limit {
		return Verdict{Never: true}
	}
	opens := w.opens(w.current(s, m), cost)
	if opens <= m.Now {
		return Verdict{Allowed: true}
	}
	return Verdict{RetryAfter: opens - m.Now}
}

// Charge counts cost units in the present window.
func (w *SlidingWindow) Charge(s State, m Moment, cost int64) (State, Receipt) {
	if cost == 0 {
		return s, Receipt{}
	}
	v := w.current(s, m)
	v.count += cost
	return v.state(), Receipt{At: v.start, Cost: cost, Numbers: [2]int64{int64(v.start), int64(v.end)}}
}

// Force counts up to cost units, as far as the overdraft reaches.
func (w *SlidingWindow) Force(s State, m Moment, cost int64) (State, Receipt) {
	return w.Charge(s, m, min(cost, w.left(w.current(s, m), m.Now, w.overdraft)))
}

// Refund takes units out of the window that was charged, be it the one that the
// state counts in or the one before; or nowhere.
func (w *SlidingWindow) Refund(s State, _ Moment, r Receipt, units int64) State {
	v, back := s.counters(), min(units, r.Cost)
	if back < 1 {
		return s
	}
	switch r.Numbers {
	case [2]int64{int64(v.start), int64(v.end)}:
		v.count -= min(back, v.count)
	case [2]int64{int64(v.start + v.start - v.end), int64(v.start)}:
		v.before -= min(back, v.before)
	default:
		return s
	}
	if v.nothing() {
		return State{}
	}
	return v.state()
}

// Level is what is left of the limit, and the time until neither window weighs
// anything.
func (w *SlidingWindow) Level(s State, m Moment) (remaining int64, reset Micros) {
	v := w.current(s, m)
	switch {
	case v.count > 0:
		reset = v.end + w.period - m.Now
	case v.before > 0:
		reset = v.end - m.Now
	}
	return w.left(v, m.Now, w.limit), reset
}

// Dead reports that nothing is counted any more: the window after the counted one
// is over, or the counted one is and it is empty, or both were empty all along.
func (w *SlidingWindow) Dead(s State, now Micros) bool {
	v := s.counters()
	switch {
	case v.end-v.start != w.period:
		return true
	case v.count > 0:
		return v.end+w.period <= now
	}
	return v.before == 0 || v.end <= now
}

// sideBits is how many bits either count of a packed state has: 134 million units.
const sideBits = PackedBits / 2

// Pack keeps the end of the window and the two counts.
func (w *SlidingWindow) Pack(s State) (end, counts uint64, ok bool) {
	v := s.counters()
	small := uint64(v.count|v.before)>>sideBits == 0
	rest := v.count<<sideBits | v.before
	return uint64(v.end), uint64(rest), small && v.end-v.start == w.period && packable(int64(v.end)|rest)
}

// Unpack is Packer's.
func (w *SlidingWindow) Unpack(end, counts uint64) State {
	return counters{
		start: Micros(end) - w.period, end: Micros(end),
		count: int64(counts >> sideBits), before: int64(counts & (1<<sideBits - 1)),
	}.state()
}
