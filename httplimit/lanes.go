package httplimit

import (
	"container/heap"
	"sync"
	"time"

	"github.com/weirhq/weir"
)

// lanes are those of all keys that matter: of requests that are under way, and of
// no more than room others that the far side has said something of.
type lanes struct {
	keyer weir.Keyer
	room  int

	mu      sync.Mutex
	byKey   map[weir.Key]*lane
	resting resting
}

func newLanes(room int) *lanes {
	return &lanes{keyer: weir.LocalKeyer(), room: room, byKey: map[weir.Key]*lane{}}
}

// enter gives the lane of a part to one request, until it leaves.
func (s *lanes) enter(part weir.Part) *lane {
	key, _ := s.keyer.Key(part)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byKey[key]
	switch {
	case l == nil:
		l = newLane(key)
		s.byKey[key] = l
	case l.users == 0:
		heap.Remove(&s.resting, l.place)
	}
	l.users++
	return l
}

// leave ends what enter began. What is known of the lane stays while it matters,
// and there is room.
func (s *lanes) leave(l *lane, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	if l.settled(now) {
		delete(s.byKey, l.key)
		return
	}
	heap.Push(&s.resting, l)
	if len(s.resting) > s.room {
		delete(s.byKey, s.resting[0].key)
		heap.Pop(&s.resting)
	}
}

// closed is how long nothing may be sent on l, if nothing new is learnt.
func (s *lanes) closed(l *lane, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.closed(now)
}

// shut is how long nothing may be sent on l, whatever is learnt of the requests
// under way.
func (s *lanes) shut(l *lane, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.shut(now)
}

// admit counts a request on l that is sent now, and reports false where it may
// not be.
func (s *lanes) admit(l *lane, now time.Time) (number uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.admit(now)
}

// learn takes in what an answer says.
func (s *lanes) learn(l *lane, number uint64, a advice, now time.Time, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.learn(number, a, now, most)
	l.tell()
}

// lose takes in that a request on l has no answer.
func (s *lanes) lose(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.lose()
}

// withdraw takes in that a request on l was not sent after all.
func (s *lanes) withdraw(l *lane, number uint64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.withdraw(number, now)
	l.tell()
}

// resting are lanes without a request, as a heap (container/heap) whose head is
// forgotten first: those that let requests through go before those that wait, and
// of these whose pause ends first. What is known of a lane does not change while it
// rests, so that its order stays what it was.
type resting []*lane

// Len is how many there are.
func (r resting) Len() int { return len(r) }

// Less reports whether a lane is to be forgotten before another.
func (r resting) Less(i, j int) bool {
	a, b := r[i].opens(), r[j].opens()
	if !a.Equal(b) {
		return a.Before(b)
	}
	return r[i].end().Before(r[j].end())
}

// Swap exchanges two places.
func (r resting) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].place, r[j].place = i, j
}

// Push adds a lane at the end.
func (r *resting) Push(x any) {
	l, _ := x.(*lane) // nothing else is pushed
	l.place = len(*r)
	*r = append(*r, l)
}

// Pop takes the lane at the end away.
func (r *resting) Pop() any {
	last := len(*r) - 1
	l := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return l
}
