package algorithm

import "fmt"

// FixedWindow admits Limit units in each window of a grid: windows of one
// length that begin at the epoch, or windows whose edges the caller hands in (a
// calendar's days, weeks, months).
//
// Formula: the state is the window's start and end and the units counted in it;
// cost c passes iff count + c ≤ Limit. A refusal writes nothing. The window
// never runs back: a reading of the clock before the counted window stays in
// that window.
//
// Bound: in any t consecutive microseconds at most Limit·(ceil((t-1)/P) + 1)
// units, P being the length of the shortest window, which is twice the limit
// across an edge. A clock that jumps forward
// over an edge opens the next window early, once.
//
// Changed numbers: the count is kept. A store keeps windows of another period
// apart (weir.Limit.ID). Where the edges of a grid have moved all the same, as a
// time zone's may, a count whose window overlaps the current one goes on counting
// in the current one, from the first touch.
//
// Source: the plain counter; the bound is exhaustive over small cases.
type FixedWindow struct {
	limit     int64
	overdraft int64
	period    Micros // 0 for edges handed in

	shortest, longest Micros // of the windows; the period, where there is one
}

// NewFixedWindow compiles limit units per window of the given period. Overdraft
// is the most that Force may count in a window, at least limit; 0 means twice
// the limit. Both are below 2^52. Errors are *FieldError.
func NewFixedWindow(limit int64, period Micros, overdraft int64) (*FixedWindow, error) {
	if err := checkRate(limit, period); err != nil {
		return nil, err
	}
	return newWindow(FixedWindow{limit: limit, period: period, shortest: period, longest: period}, overdraft)
}

// NewCalendarWindow compiles limit units per window whose edges come with each
// moment. How long the shortest and the longest of them last is needed for Most and
// Pins alone. Errors are *FieldError.
func NewCalendarWindow(limit int64, shortest, longest Micros, overdraft int64) (*FixedWindow, error) {
	if err := checkRate(limit, shortest); err != nil {
		return nil, err
	}
	if err := checkRate(limit, longest); err != nil {
		return nil, err
	}
	return newWindow(FixedWindow{limit: limit, shortest: min(shortest, longest), longest: longest}, overdraft)
}

// newWindow adds the overdraft to a window that is right but for that.
func newWindow(w FixedWindow, overdraft int64) (*FixedWindow, error) {
	const most = int64(MaxMicros) - 1
	limit := w.limit
	if overdraft == 0 {
		overdraft = min(2*limit, most)
	}
	if overdraft < limit {
		return nil, refuse("overdraft", overdraft, fmt.Sprintf("it may be no smaller than the count of %d", limit), "leave it out, or raise it")
	}
	if overdraft > most {
		return nil, refuse("overdraft", overdraft, "too large to count exactly", fmt.Sprintf("write at most %d", most))
	}
	w.overdraft = overdraft
	return &w, nil
}

// Moment places now in the epoch's grid, shifted by offset (0 ≤ offset <
// period). A calendar window has no grid of its own: ok is false.
func (w *FixedWindow) Moment(now, offset Micros) (m Moment, ok bool) {
	if w.period == 0 {
		return Moment{}, false
	}
	return gridMoment(now, offset, w.period), true
}

// gridMoment places now in the windows of a period that follow each other from
// the epoch, shifted by offset.
func gridMoment(now, offset, period Micros) Moment {
	start := now - floorMod(now-offset, period)
	return Moment{Now: now, Start: start, End: start + period}
}

// floorMod is the rest of a division that rounds down, never negative.
func floorMod(a, b Micros) Micros {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// Family is FixedWindowFamily.
func (w *FixedWindow) Family() Family { return FixedWindowFamily }

// Capacity is the limit.
func (w *FixedWindow) Capacity() int64 { return w.limit }

// Overdraft is the most that Force may count in one window.
func (w *FixedWindow) Overdraft() int64 { return w.overdraft }

// Most is Limit·(ceil((t-1)/P) + 1), P being the length of the shortest window.
func (w *FixedWindow) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	edges := int64((t - 1) / w.shortest)
	if (t-1)%w.shortest > 0 {
		edges++
	}
	return saturated(w.limit, edges, w.limit, 1)
}

// Pins are the length of the longest window, whatever was charged: the state is of
// no use when its window is over, and a charge may come at its very beginning.
func (w *FixedWindow) Pins() (one, full Micros) { return w.longest, w.longest }

// window is a stretch of time and what was counted in it.
type window struct {
	start, end Micros
	count      int64
}

func (s State) window() window { return window{Micros(s[0]), Micros(s[1]), s[2]} }

func (v window) state() State { return State{int64(v.start), int64(v.end), v.count} }

// current is the window that counts at m. A stored one that lies ahead wins
// over the clock; one that is over, or holds nothing, counts no more. One of
// another grid that overlaps is returned as it stands, with foreign set.
func current(s State, m Moment) (v window, foreign bool) {
	v = s.window()
	switch {
	case v.count == 0 || v.end <= m.Now:
		return window{m.Start, m.End, 0}, false
	case v.start >= m.End: // the clock ran back
		return v, false
	}
	return v, v.start != m.Start || v.end != m.End
}

// Touch moves a count of another grid into the current window.
func (w *FixedWindow) Touch(s State, m Moment) State {
	v, foreign := current(s, m)
	if !foreign {
		return s
	}
	return window{m.Start, m.End, v.count}.state()
}

// Judge says whether cost more units fit the window. The wait is the window's
// end.
func (w *FixedWindow) Judge(s State, m Moment, cost int64) Verdict {
	if cost > w.limit {
		return Verdict{Never: true}
	}
	v, _ := current(s, m)
	if v.count <= w.limit-cost {
		return Verdict{Allowed: true}
	}
	return Verdict{RetryAfter: v.end - m.Now}
}

// Charge counts cost units.
func (w *FixedWindow) Charge(s State, m Moment, cost int64) (State, Receipt) {
	if cost == 0 {
		return s, Receipt{}
	}
	v, _ := current(w.Touch(s, m), m)
	v.count += cost
	return v.state(), Receipt{At: v.start, Cost: cost, Numbers: [2]int64{int64(v.start), int64(v.end)}}
}

// Force counts up to cost units, as far as the overdraft reaches.
func (w *FixedWindow) Force(s State, m Moment, cost int64) (State, Receipt) {
	v, _ := current(w.Touch(s, m), m)
	return w.Charge(s, m, max(0, min(cost, w.overdraft-v.count)))
}

// Refund takes units out of the window that was charged, or nowhere.
func (w *FixedWindow) Refund(s State, m Moment, r Receipt, units int64) State {
	v := s.window()
	if r.Numbers != [2]int64{int64(v.start), int64(v.end)} {
		return s
	}
	v.count -= max(0, min(units, r.Cost, v.count))
	if v.count == 0 {
		return State{}
	}
	return v.state()
}

// Level is what is left of the limit, and the time to the window's end when
// anything is counted.
func (w *FixedWindow) Level(s State, m Moment) (remaining int64, reset Micros) {
	v, _ := current(s, m)
	if v.count > 0 {
		reset = v.end - m.Now
	}
	return max(0, w.limit-v.count), reset
}

// Dead reports that the window is over or nothing is counted in it.
func (w *FixedWindow) Dead(s State, now Micros) bool {
	return s[1] <= int64(now) || s[2] == 0
}

// The parts of a packed calendar window: its length, which is in whole seconds and
// below 49 days, and its count.
const (
	lengthBits = 22
	countBits  = PackedBits - lengthBits
	second     = 1_000_000 // µs
)

// Pack keeps the end of the window and the count; of a calendar, whose windows have
// different lengths, the length as well.
func (w *FixedWindow) Pack(s State) (end, rest uint64, ok bool) {
	v := s.window()
	length := v.end - v.start
	if w.period > 0 {
		return uint64(v.end), uint64(v.count), s[3] == 0 && length == w.period && packable(int64(v.end)|v.count)
	}
	ok = s[3] == 0 && length >= second && length%second == 0 && length/second < 1<<lengthBits && uint64(v.count)>>countBits == 0 && packable(int64(v.end)|v.count)
	return uint64(v.end), uint64(length/second)<<countBits | uint64(v.count), ok
}

// Unpack is Packer's.
func (w *FixedWindow) Unpack(end, rest uint64) State {
	length, count := w.period, int64(rest)
	if w.period == 0 {
		length, count = Micros(rest>>countBits)*second, int64(rest&(1<<countBits-1))
	}
	return window{Micros(end) - length, Micros(end), count}.state()
}
