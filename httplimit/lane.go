package httplimit

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// lane is what is known of one key: what the far side has said of it, and who
// wants to send. Its methods are arithmetic; time comes as an argument.
type lane struct {
	key  weir.Key
	turn chan struct{} // holds one: whoever decides whether to send; others wait in order
	news chan struct{} // holds one: an answer has changed something

	users  int    // requests that wait or are under way
	place  int    // without any: where it stands among the lanes at rest
	sent   uint64 // requests so far
	flying int64  // of those, without an answer

	notBefore time.Time // the far side wants none before
	windows   []window  // what it has said is left: of each quota one, and no more than mostWindows
	probe     time.Time // a request has gone first: the others wait for its answer, and no longer than until then
	paused    uint64    // requests that had been sent when the last pause ended
	unsaid    uint      // refusals in a row that did not say for how long
}

// window is what the far side has said of one of its quotas.
//
// It has counted some of the requests that are under way and not yet the others,
// nobody knows which. So all of them are taken off: no more go than least - flying.
// Answers may come in another order than they were made in. Of two that were under
// way together the one with less left was made later, so that every request that is
// answered by then has been counted in it; one that was sent after another was
// answered is the newer, also where it has more.
type window struct {
	quota quotaName
	until time.Time // the end of the window in which …
	least int64     // … so many were left
	since uint64    // … when so many had been sent
}

const (
	// probeTime is how long a request that goes first after a pause is alone,
	// unless it is answered before. Without answers one goes each such time.
	probeTime = time.Second

	// unsaidTime is the pause after a refusal that does not say for how long. It
	// doubles with each in a row.
	unsaidTime    = time.Second
	unsaidDoubles = 6

	// mostWindows is of how many quotas of a far side a lane knows. Most have one
	// or two; of more, those with the least left matter.
	mostWindows = 8

	// leastPause is the shortest that the longest pause may be: whoever wants none
	// longer than that does not listen.
	leastPause = time.Millisecond
)

func newLane(key weir.Key) *lane {
	return &lane{key: key, turn: make(chan struct{}, 1), news: make(chan struct{}, 1)}
}

// closed is how long nothing may be sent from now on, if nothing new is learnt.
func (l *lane) closed(now time.Time) time.Duration { return max(0, l.opens().Sub(now)) }

// opens is when the lane is open, if nothing new is learnt: zero where it always was.
func (l *lane) opens() time.Time { return later(l.shutUntil(l.flying), l.probe) }

// shut is how long nothing may be sent, whatever the requests under way are answered:
// the far side has asked for a pause, or has said that nothing is left.
func (l *lane) shut(now time.Time) time.Duration { return max(0, l.shutUntil(0).Sub(now)) }

// shutUntil is the end of the pause, and of all windows that have no more left than
// so many.
func (l *lane) shutUntil(left int64) time.Time {
	end := l.notBefore
	for i := range l.windows {
		if w := &l.windows[i]; w.least <= left {
			end = later(end, w.until)
		}
	}
	return end
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// admit counts a request that is sent now, and gives its number. It reports false
// where the lane is closed. The first one after a pause goes alone.
func (l *lane) admit(now time.Time) (number uint64, ok bool) {
	if l.closed(now) > 0 {
		return 0, false
	}
	paused := !l.notBefore.IsZero()
	l.notBefore = time.Time{}
	l.windows = slices.DeleteFunc(l.windows, func(w window) bool {
		over := !now.Before(w.until)
		paused = paused || over && w.least <= l.flying
		return over
	})
	if paused {
		l.paused = l.sent
	}
	if paused || !l.probe.IsZero() {
		l.probe = now.Add(probeTime)
	}
	l.sent++
	l.flying++
	return l.sent, true
}

// learn takes in what the answer to a request says. No pause is longer than most.
func (l *lane) learn(number uint64, a advice, now time.Time, most time.Duration) {
	l.flying--
	if most < leastPause {
		return
	}
	for i := range l.windows {
		if w := &l.windows[i]; !a.refused && !a.speaksOf(w.quota) {
			w.least-- // it has used one
		}
	}
	for _, s := range a.stated {
		l.count(number, window{s.quota, now.Add(min(s.reset, most)), s.left, l.sent}, now)
	}
	if a.refused {
		l.refuse(a.wait, now, most)
		return
	}
	l.unsaid = 0
	if number > l.paused {
		l.probe = time.Time{}
	}
}

// lose takes in that a request has no answer. It may have used one.
func (l *lane) lose() {
	l.flying--
	for i := range l.windows {
		l.windows[i].least--
	}
}

// withdraw takes in that a request was not sent after all. If it was to go first,
// another does.
func (l *lane) withdraw(number uint64, now time.Time) {
	l.flying--
	if number > l.paused && !l.probe.IsZero() {
		l.probe = now
	}
}

// count takes in what the answer to a request says of a quota.
func (l *lane) count(number uint64, said window, now time.Time) {
	i := slices.IndexFunc(l.windows, func(w window) bool { return w.quota == said.quota })
	if i < 0 {
		l.open(number, said, now)
		return
	}
	switch w := &l.windows[i]; {
	case !now.Before(w.until), number > w.since, said.least < w.least:
		*w = said
	case said.least == w.least:
		w.until = later(w.until, said.until)
	}
}

// open begins to count a quota of which nothing is known. What was sent before the
// last pause ended says nothing of what is left after it. Where there is no room it
// takes that of a window that is over, or else of the one with the most left.
func (l *lane) open(number uint64, said window, now time.Time) {
	switch {
	case number <= l.paused:
		return
	case len(l.windows) < mostWindows:
		l.windows = append(l.windows, said)
		return
	}
	out := &l.windows[0]
	for i := range l.windows {
		w := &l.windows[i]
		if !now.Before(w.until) {
			*w = said
			return
		}
		if w.least > out.least {
			out = w
		}
	}
	if said.least < out.least {
		*out = said
	}
}

// refuse closes the lane for d, or for a time of our own where d is 0. What is used
// up is there again then, for that is what the refusal says; what else is left of
// other quotas still holds.
func (l *lane) refuse(d time.Duration, now time.Time, most time.Duration) {
	if d <= 0 {
		if now.Before(l.notBefore) {
			return // sent before the pause that another's refusal has begun
		}
		d = unsaidTime << min(l.unsaid, unsaidDoubles)
		l.unsaid++
	}
	l.notBefore = later(l.notBefore, now.Add(min(d, most)))
	l.windows = slices.DeleteFunc(l.windows, func(w window) bool { return w.least <= 0 })
	l.probe = time.Time{}
}

// settled reports whether nothing that is known matters any more. A pause that is
// over matters until an answer has opened the lane: one goes first, and the next
// refusal counts as one in a row.
func (l *lane) settled(now time.Time) bool {
	if !l.notBefore.IsZero() || !l.probe.IsZero() {
		return false
	}
	return !slices.ContainsFunc(l.windows, func(w window) bool { return now.Before(w.until) || w.least <= l.flying })
}

// end is when nothing that the far side has said holds any more.
func (l *lane) end() time.Time {
	end := l.notBefore
	for i := range l.windows {
		end = later(end, l.windows[i].until)
	}
	return end
}

// tell wakes the request whose turn it is, if it waits.
func (l *lane) tell() {
	select {
	case l.news <- struct{}{}:
	default: // it is to look anyway
	}
}
