package httplimit

import (
	"time"

	"github.com/weirhq/weir"
)

// lane is what is known of one key: what the far side has said of it, and who
// wants to send. Its methods are arithmetic; time comes as an argument.
//
// Of a quota the far side says how many requests it has left, having counted some
// of those that are under way and not yet the others, nobody knows which. So all of
// them are taken off: no more go than least - flying. Answers may come in another
// order than they were made in. Of two that were under way together the one with
// less left was made later, so that every request that is answered by then has been
// counted in it; one that was sent after another was answered is the newer, also
// where it has more.
type lane struct {
	key  weir.Key
	turn chan struct{} // holds one: whoever decides whether to send; others wait in order
	news chan struct{} // holds one: an answer has changed something

	users  int    // requests that wait or are under way
	sent   uint64 // requests so far
	flying int64  // of those, without an answer

	notBefore time.Time // the far side wants none before
	until     time.Time // the end of the window in which …
	least     int64     // … so many were left
	since     uint64    // … when so many had been sent
	probing   bool      // the window is that in which one request goes first
	unsaid    uint      // refusals in a row that did not say for how long
}

const (
	// probeTime is how long a request that goes first after a pause is alone,
	// unless it is answered before. Without answers one goes each such time.
	probeTime = time.Second

	// unsaidTime is the pause after a refusal that does not say for how long. It
	// doubles with each in a row.
	unsaidTime    = time.Second
	unsaidDoubles = 6
)

func newLane(key weir.Key) *lane {
	return &lane{key: key, turn: make(chan struct{}, 1), news: make(chan struct{}, 1)}
}

// closed is how long nothing may be sent from now on, if nothing new is learnt.
func (l *lane) closed(now time.Time) time.Duration {
	d := l.notBefore.Sub(now)
	if l.least <= l.flying {
		d = max(d, l.until.Sub(now))
	}
	return max(0, d)
}

// admit counts a request that is sent now, and gives its number. It reports false
// where the lane is closed.
func (l *lane) admit(now time.Time) (number uint64, ok bool) {
	if l.closed(now) > 0 {
		return 0, false
	}
	wasClosed := !l.notBefore.IsZero() || !l.until.IsZero() && l.least <= l.flying
	if !now.Before(l.until) {
		l.least, l.until, l.probing = 0, time.Time{}, false
		if wasClosed {
			l.until, l.since, l.probing = now.Add(probeTime), l.sent, true
		}
	}
	l.notBefore = time.Time{}
	l.sent++
	l.flying++
	return l.sent, true
}

// learn takes in what the answer to a request says. No pause is longer than most.
func (l *lane) learn(number uint64, a advice, now time.Time, most time.Duration) {
	l.flying--
	if a.refused {
		l.refuse(a.wait, now, most)
		return
	}
	l.unsaid = 0
	switch {
	case a.stated:
		l.count(number, a.left, now.Add(min(a.reset, most)), now)
	case !l.probing:
		l.least-- // it has used one
	case number > l.since:
		l.least, l.until, l.probing = 0, time.Time{}, false
	}
}

// lose takes in that a request has no answer. It may have used one.
func (l *lane) lose() {
	l.flying--
	l.least--
}

// count takes in how many an answer says are left until when.
func (l *lane) count(number uint64, left int64, until, now time.Time) {
	switch {
	case !now.Before(l.until), number > l.since, left < l.least:
		l.least, l.until, l.since, l.probing = left, until, l.sent, false
	case left == l.least && until.After(l.until):
		l.until = until
	}
}

// refuse closes the lane for d, or for a time of our own where d is 0.
func (l *lane) refuse(d time.Duration, now time.Time, most time.Duration) {
	if d <= 0 {
		if now.Before(l.notBefore) {
			return // sent before the pause that another's refusal has begun
		}
		d = unsaidTime << min(l.unsaid, unsaidDoubles)
		l.unsaid++
	}
	if end := now.Add(min(d, most)); end.After(l.notBefore) {
		l.notBefore = end
	}
	l.least, l.until, l.probing = 0, time.Time{}, false
}

// end is when nothing that is known matters any more.
func (l *lane) end() time.Time {
	if l.until.After(l.notBefore) {
		return l.until
	}
	return l.notBefore
}

// tell wakes the request whose turn it is, if it waits.
func (l *lane) tell() {
	select {
	case l.news <- struct{}{}:
	default: // it is to look anyway
	}
}
