package storetest

import "github.com/weirhq/weir"

// A window is a stretch of time and what has been counted in it.
type window struct {
	start, end weir.Micros
	count      int64
}

func (w window) same(other state) bool { return other == w }

// windowLaw is a fixed window: a cost passes when the count and the cost are
// together no more than the limit.
type windowLaw struct{ limit, overdraft int64 }

func (l windowLaw) capacity() int64 { return l.limit }

// counted gives the window that still counts at an instant: not over, and not
// empty. A window that lies ahead of the clock counts: it never runs back.
func counted(s state, at weir.Micros) (w window, ok bool) {
	w, ok = s.(window)
	if !ok || w.end <= at || w.count == 0 {
		return window{}, false
	}
	return w, true
}

func (l windowLaw) fits(s state, at weir.Micros, need int64) bool {
	w, _ := counted(s, at)
	return w.count <= l.limit-need
}

func (l windowLaw) wait(s state, at weir.Micros, need int64) weir.Micros {
	w, _ := counted(s, at)
	return earliest(w.end-at, func(d weir.Micros) bool { return l.fits(s, at+d, need) })
}

func (l windowLaw) left(s state, at weir.Micros) int64 {
	w, _ := counted(s, at)
	return max(0, l.limit-w.count)
}

func (l windowLaw) reset(s state, at weir.Micros) weir.Micros {
	w, _ := counted(s, at)
	return earliest(w.end-at, func(d weir.Micros) bool {
		_, counts := counted(s, at+d)
		return !counts
	})
}

// touch: a count of another grid that overlaps the current window goes on in
// the current window.
func (l windowLaw) touch(s state, m moment) state {
	w, ok := counted(s, m.now)
	if !ok || w.start >= m.end {
		return s
	}
	return window{start: m.start, end: m.end, count: w.count}
}

func (l windowLaw) charge(s state, m moment, n int64) (state, weir.Receipt) {
	w, ok := counted(l.touch(s, m), m.now)
	if !ok {
		w = window{start: m.start, end: m.end}
	}
	w.count += n
	return w, weir.Receipt{At: w.start, Cost: n, Numbers: [2]int64{int64(w.start), int64(w.end)}}
}

func (l windowLaw) force(s state, m moment, n int64) (state, weir.Receipt) {
	w, _ := counted(s, m.now)
	n = min(n, l.overdraft-w.count)
	if n <= 0 {
		return s, weir.Receipt{}
	}
	return l.charge(s, m, n)
}

// refund takes units out of the window that was charged, or nowhere.
func (l windowLaw) refund(s state, _ weir.Micros, r weir.Receipt, n int64) state {
	w, ok := s.(window)
	if !ok || r.Numbers != [2]int64{int64(w.start), int64(w.end)} {
		return s
	}
	w.count -= min(n, r.Cost, w.count)
	if w.count == 0 {
		return nil
	}
	return w
}
