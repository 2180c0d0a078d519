package weir

import (
	"time"

	"github.com/weirhq/weir/algorithm"
)

// Penalty stands for the limit's block in a store: its ID and Version, and its
// Algorithm, which is an [algorithm.Penalty], are those of the state that the store
// keeps beside the limit's own. It is nil where the limit has no block, and of use to
// stores alone (docs/stores.md).
func (l *Limit) Penalty() *Limit { return l.penalty }

// punish builds it. The numbers of a limit do not name its states, and those of its
// block neither: who is blocked stays so when they change, for as long as it was to
// be.
func (l *Limit) punish() error {
	b := l.spec.Block
	if b == (Block{}) {
		return nil
	}
	p, err := algorithm.NewPenalty(Micros(b.For/time.Microsecond), b.Factor, Micros(b.Max/time.Microsecond))
	if err != nil {
		return err // never: Validate has found it
	}
	text := string(b.append(nil))
	l.penalty = &Limit{name: l.name, rule: l.rule, slot: l.slot, states: l.states, text: text, algorithm: p}
	l.penalty.id = hash(string(p.Family()), "", l.states)
	l.penalty.version = hash(string(l.penalty.id[:]), text)
	return nil
}

// append writes a block as it stands in a limit's text.
func (b Block) append(to []byte) []byte {
	to = appendSpan(to, " block ", b.For)
	to = appendInt(to, " x ", b.Factor)
	return appendSpan(to, " max ", b.Max)
}
