package httplimit

import (
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
	resting int // lanes without a request
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
		s.resting--
	}
	l.users++
	return l
}

// leave ends what enter began. What is known of the lane stays while it matters.
func (s *lanes) leave(l *lane, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	if s.resting++; !l.end().After(now) {
		s.forget(l)
	}
	if s.resting > s.room {
		s.makeRoom(now)
	}
}

// makeRoom forgets all lanes that no longer matter, and the one that ceases to
// first where there are none. It looks at all of them: that is short beside the
// answer of an upstream, and happens only where thousands have asked to wait.
func (s *lanes) makeRoom(now time.Time) {
	var first *lane
	for _, l := range s.byKey {
		switch {
		case l.users > 0:
		case !l.end().After(now):
			s.forget(l)
		case first == nil || l.end().Before(first.end()):
			first = l
		}
	}
	if s.resting > s.room {
		s.forget(first)
	}
}

// forget drops a lane without a request.
func (s *lanes) forget(l *lane) {
	delete(s.byKey, l.key)
	s.resting--
}

// closed is how long nothing may be sent on l.
func (s *lanes) closed(l *lane, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.closed(now)
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
