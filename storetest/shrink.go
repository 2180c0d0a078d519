package storetest

import (
	"fmt"
	"slices"
)

// mostReplays bounds how often a tape is played again to make it shorter.
const mostReplays = 2000

// check plays the tape and, where something differs, makes it shorter as long
// as something still does. The error shows what is left.
func (t *Tape) check(play func(*Tape) (passed int, err error)) error {
	passed, err := play(t)
	if err == nil {
		return nil
	}
	s := &shrinker{play: play, tape: t.first(passed + 1), err: err}
	s.events()
	s.takes()
	return fmt.Errorf("%w\nthe shortest tape found that shows it:\n%v", s.err, s.tape)
}

// first is the tape up to a number of events.
func (t *Tape) first(n int) *Tape { return t.only(t.events[:min(n, len(t.events))]) }

// shrinker looks for a shorter tape.
type shrinker struct {
	play    func(*Tape) (passed int, err error)
	tape    *Tape
	err     error
	replays int
}

// better keeps a shorter tape if it still shows a difference.
func (s *shrinker) better(t *Tape) bool {
	if s.replays++; s.replays > mostReplays {
		return false
	}
	passed, err := s.play(t)
	if err == nil {
		return false
	}
	s.tape, s.err = t.first(passed+1), err
	return true
}

// events leaves out halves of the tape, quarters, and at last single events.
func (s *shrinker) events() {
	for size := len(s.tape.events) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(s.tape.events); {
			if !s.better(s.tape.only(slices.Concat(s.tape.events[:from], s.tape.events[from+size:]))) {
				from += size
			}
		}
	}
}

// takes leaves out single takes of calls that have several.
func (s *shrinker) takes() {
	for i := range s.tape.events {
		for j := 0; s.has(i, j); {
			if !s.better(s.tape.without(i, j)) {
				j++
			}
		}
	}
}

// has reports whether there is a take to leave out, and one that stays.
func (s *shrinker) has(i, j int) bool {
	return i < len(s.tape.events) && j < len(s.tape.events[i].takes) && len(s.tape.events[i].takes) > 1
}

// without leaves out one take, and the returns of its receipt.
func (t *Tape) without(i, j int) *Tape {
	events := slices.Clone(t.events)
	id := events[i].id
	events[i].takes = slices.Delete(slices.Clone(events[i].takes), j, j+1)
	for n, e := range events {
		events[n].returns = nil
		for _, g := range e.returns {
			switch {
			case g.event == id && g.take == j:
				continue
			case g.event == id && g.take > j:
				g.take--
			}
			events[n].returns = append(events[n].returns, g)
		}
	}
	return t.only(events)
}
