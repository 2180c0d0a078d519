package algorithm_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/algorithm"
)

// A warden keeps what penalties have done to a caller as a list of blocks: when each
// began, and how long it was to last. He computes nothing beforehand.
type warden []struct{ began, length int64 }

// left is how much longer the last block lasts. A clock that stands before its
// beginning has all of it to come.
func (w warden) left(now int64) int64 {
	if len(w) == 0 {
		return 0
	}
	last := w[len(w)-1]
	return max(0, last.began+last.length-now)
}

// remembers reports whether the last block is over for less than it has lasted.
func (w warden) remembers(now int64) bool {
	return len(w) > 0 && now < w[len(w)-1].began+2*w[len(w)-1].length
}

// strike begins a block under some numbers, unless there is one.
func (w warden) strike(now int64, by offence) warden {
	if w.left(now) > 0 {
		return w
	}
	length := by.first
	if w.remembers(now) {
		next := new(big.Int).Mul(big.NewInt(w[len(w)-1].length), big.NewInt(max(by.factor, 1)))
		longest := max(by.first, by.longest)
		if next.Cmp(big.NewInt(longest)) > 0 {
			next.SetInt64(longest)
		}
		length = max(by.first, next.Int64())
	}
	return append(w, struct{ began, length int64 }{now, length})
}

// An offence has the numbers of a penalty, as they are written.
type offence struct{ first, factor, longest int64 }

func (o offence) penalty(t rapid.TB) *algorithm.Penalty {
	t.Helper()
	p, err := algorithm.NewPenalty(micros(o.first), o.factor, micros(o.longest))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// offences are penalties as people write them, and a few that are hard on integers.
func offences() []offence {
	return []offence{
		{5, 0, 0}, {1, 2, 16}, {3, 3, 20}, {4, 10, 4}, {60_000_000, 2, 3_600_000_000}, {7, 1 << 62, 50}, {1, 2, 1<<51 - 1}, {1<<51 - 1, 0, 0},
	}
}

// besideWarden takes a caller through steps that dice decide, under penalties in turn,
// and holds every answer against a warden.
func besideWarden(t rapid.TB, d dice, offences []offence, steps int) {
	t.Helper()
	var book warden
	var s state
	now := started
	for range steps {
		now = min(max(1, now+pause(d, book, int64(now))), algorithm.MaxMicros-1)
		o := offences[d.Int64N(int64(len(offences)))]
		p, m, before := o.penalty(t), at(now), s
		checkWarden(t, p, s, book, now)
		switch d.Int64N(4) {
		case 0: // what passes is no strike, and what comes back none less
			s, _ = p.Charge(s, m, 1)
			s = p.Refund(p.Touch(s, m), m, receipt{At: now, Cost: 1}, 1)
		case 1:
			s, _ = p.Force(s, m, 0)
		default:
			s, _ = p.Force(s, m, 1+d.Int64N(3))
			book = book.strike(int64(now), o)
		}
		checkWarden(t, p, s, book, now)
		if a, b, ok := p.Pack(s); s != (state{}) && (!ok || p.Unpack(a, b) != s) {
			t.Fatalf("%+v at %d: state %v, before it %v, is packed as %d, %d, %t", o, now, s, before, a, b, ok)
		}
	}
}

// pause is how far the clock moves: a little, either way, or to where the block ends or
// is forgotten, or just beside it.
func pause(d dice, book warden, now int64) micros {
	beside := d.Int64N(3) - 1
	switch d.Int64N(5) {
	case 0:
		return micros(d.Int64N(8))
	case 1:
		return -micros(d.Int64N(40))
	case 2:
		if len(book) > 0 && book.remembers(now) { // until it is forgotten
			last := book[len(book)-1]
			return micros(last.began + 2*last.length - now + beside)
		}
	}
	return micros(book.left(now) + beside)
}

// checkWarden holds all that a penalty says against a warden.
func checkWarden(t rapid.TB, p *algorithm.Penalty, s state, book warden, now micros) {
	t.Helper()
	left := micros(book.left(int64(now)))
	v, wanted := p.Judge(s, at(now), 1), algorithm.Verdict{Allowed: left == 0, RetryAfter: left}
	room, reset := p.Level(s, at(now))
	if v != wanted || p.Left(s, now) != left || reset != left || (room == 1) != (left == 0) || room < 0 || room > 1 {
		t.Fatalf("%+v at %d, state %v, %v: %+v, %d left, room for %d, reset %d", p, now, s, book, v, p.Left(s, now), room, reset)
	}
	if p.Dead(s, now) == book.remembers(int64(now)) {
		t.Fatalf("%+v at %d, state %v, %v: dead %t", p, now, s, book, p.Dead(s, now))
	}
}

func TestPenaltyIsTheWarden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var some []offence
		for range rapid.IntRange(1, 3).Draw(t, "offences") {
			some = append(some, rapid.SampledFrom(offences()).Draw(t, "offence"))
		}
		besideWarden(t, rapidDice{t}, some, 40)
	})
}

// FuzzPenalty takes a caller, under two penalties in turn, through the steps that the
// bytes spell.
func FuzzPenalty(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte("\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add(uint8(1), uint8(2), []byte("he is refused, and again when the block has ended, over and over, until it is longest"))
	f.Add(uint8(6), uint8(7), []byte("\x02\x03\x00\x02\x02\x01\x03\x03\x00\x03\x01\x04\x00\x02\x02 blocks that outlive the clock"))
	f.Fuzz(func(t *testing.T, one, two uint8, moves []byte) {
		all := offences()
		besideWarden(t, &bytesDice{moves}, []offence{all[int(one)%len(all)], all[int(two)%len(all)]}, min(len(moves), 100))
	})
}
