package weir

import (
	"errors"
	"math/bits"
)

// Cause says what decided an outcome.
type Cause uint8

// The causes. A surface turns each into its own tongue: HTTP statuses, gRPC
// codes.
const (
	ByLimits  Cause = iota // the limits of the takes
	ByDeny                 // a limit of `deny`: refused, nothing charged
	ByFault                // the store failed; Err says how. Allowed is what was chosen for that case
	ByMissing              // the request lacks what its key is made of; Err says what
	ByRequest              // the request cannot be judged as it stands (a cost that is no number); Err says why
	ByNothing              // no limit applies: unlimited, exempt, unmatched, switched off
)

// String is the word that logs use: limits, deny, …
func (c Cause) String() string {
	names := [...]string{"limits", "deny", "fault", "missing", "request", "nothing"}
	if int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// Outcome is everything one decision found. The zero Outcome is refused and
// empty. Reusing one for the next decision keeps its slices, so that nothing is
// allocated. An Outcome is not safe for concurrent use, and a copy shares its
// slices: hand on a pointer.
type Outcome struct {
	Allowed bool  // the call may go on, after Delay
	Cause   Cause // what decided

	// Binding is the index of the take that decided: of a refusal, the refused
	// limit with the longest wait (never before all); of an allowed call, the
	// one with the least share of its capacity left; of several alike the first.
	// -1 when there is none.
	Binding int

	// RetryAfter is the longest wait among the refused limits, exact: without
	// other traffic the same call passes then; of slots it is the end of the earliest
	// lease, if nobody is done before or renews it. 0 when allowed, or never, or where no
	// limit refused: of other causes nobody knows how long they last.
	RetryAfter Micros
	Never      bool   // refused by a cost above a capacity, or by deny: waiting does not help
	Delay      Micros // allowed: hold the request this long before it goes on, the longest of all that may refuse; give back what never goes on

	Stamp     Stamp      // by which clock, and when
	Takes     []Take     // what was asked
	Decisions []Decision // what each was answered; same length after a decision
	Err       error      // always with the causes ByFault, ByMissing and ByRequest; with others a fault that did not decide

	// Rule is the name of the rule that decided where no limit did (it denies, it
	// misses something, its store failed). A Decider that has no rules leaves it
	// empty, and so does one whose limits decided, unless it sets it then as well:
	// Limit says whose those are.
	Rule string

	// Refusal is what the rule that refused wants its caller told; nil leaves it to
	// the surface. It is shared and not changed by anyone. An outcome that is
	// allowed tells nobody of it.
	Refusal *Refusal

	// Untold are limits, bit i for that of Takes[i], of which a refusal that is made
	// later says nothing (RefuseDelay): it would show whether a secret that was
	// presented is right. A Decider may set it where a limit that is told delays too.
	Untold uint32

	spent    bool     // what was charged has been given back
	released bool     // its slots have been released
	slots    *Slots   // which are being renewed; nil for none
	returns  []Return // room for giving back
}

// Refusal is what a caller is told in the place of a surface's own words: a login
// form may want to answer 403 where a limit refused. What refused, and for how
// long, stays as it is, in the outcome and in the header fields. The zero Refusal
// changes nothing.
type Refusal struct {
	// Status is the HTTP status, 400 to 599; 0, like any other number, leaves the
	// one that the outcome's cause has.
	Status int

	// Detail is one sentence for people in the body of the answer; "" leaves what
	// the surface says.
	Detail string
}

// Reset empties the outcome and keeps its slices.
func (o *Outcome) Reset() {
	clear(o.Takes) // lets go of limits and edges
	o.Takes = o.Takes[:0]
	o.begin()
}

// begin empties the outcome but for what was asked. It is field by field: to
// write the whole of an Outcome takes three times as long.
func (o *Outcome) begin() {
	clear(o.returns)
	o.Allowed, o.Cause, o.Binding = false, ByLimits, -1
	o.RetryAfter, o.Never, o.Delay = 0, false, 0
	o.Stamp, o.Err, o.spent = Stamp{}, nil, false
	o.released, o.slots = false, nil
	o.Rule, o.Refusal, o.Untold = "", nil, 0
	o.Decisions, o.returns = o.Decisions[:0], o.returns[:0]
}

// Limit is the limit that decided, nil when there is none.
func (o *Outcome) Limit() *Limit {
	if o.Binding < 0 || o.Binding >= len(o.Takes) {
		return nil
	}
	return o.Takes[o.Binding].Limit
}

// Decision is the answer of the limit that decided; the zero Decision when
// there is none.
func (o *Outcome) Decision() Decision {
	if o.Binding < 0 || o.Binding >= len(o.Decisions) {
		return Decision{}
	}
	return o.Decisions[o.Binding]
}

// Mode is the one in which the deciding limit was decided. A store that failed
// gives Open or Closed.
func (o *Outcome) Mode() Mode {
	switch {
	case o.Cause != ByFault:
		return o.Decision().Mode
	case o.Allowed:
		return Open
	}
	return Closed
}

// Pass makes the outcome one that no limit decided.
func (o *Outcome) Pass() {
	o.Reset()
	o.Allowed, o.Cause = true, ByNothing
}

// Refuse makes the outcome a refusal for a cause other than the limits. What a
// store may have said before is dropped.
func (o *Outcome) Refuse(c Cause, err error) {
	o.Reset()
	o.Cause, o.Err, o.Never = c, err, c == ByDeny
}

// RefuseDelay makes the outcome of a request that would have to wait (Delay) a
// refusal for as long: who cannot keep it waiting gives its charge back first, and
// tells this. What is Untold is no part of the outcome any more. One without a Delay
// stays as it is.
func (o *Outcome) RefuseDelay() {
	if o.Delay == 0 {
		return
	}
	o.leaveUntold()
	o.Allowed, o.Binding, o.RetryAfter, o.Delay = false, -1, o.Delay, 0
	for i := range o.Decisions {
		d := &o.Decisions[i]
		d.Granted = 0
		if o.Takes[i].Join != All || d.Delay == 0 {
			continue
		}
		if d.Delay == o.RetryAfter && o.Binding < 0 {
			o.Binding = i
		}
		d.Allowed, d.Remaining, d.RetryAfter, d.Delay = false, 0, d.Delay, 0
	}
	if l := o.Limit(); l != nil && o.Rule != "" {
		o.Rule = l.Rule()
	}
}

// leaveUntold takes out of an outcome what a refusal does not tell.
func (o *Outcome) leaveUntold() {
	if o.Untold == 0 {
		return
	}
	n := 0
	o.Delay = 0
	for i := range o.Takes {
		if o.Untold&(1<<i) != 0 {
			continue
		}
		o.Takes[n], o.Decisions[n] = o.Takes[i], o.Decisions[i]
		if o.Takes[n].Join == All {
			o.Delay = max(o.Delay, o.Decisions[n].Delay)
		}
		n++
	}
	clear(o.Takes[n:])
	o.Takes, o.Decisions, o.Untold = o.Takes[:n], o.Decisions[:n], 0
}

// Fail applies what a rule chose for a store that fails: Open lets pass,
// everything else refuses.
func (o *Outcome) Fail(choice Mode, err error) {
	o.Refuse(ByFault, err)
	o.Allowed = choice == Open
}

// fault makes the outcome refused because nothing could be decided, and hands
// the error on.
func (o *Outcome) fault(err error) error {
	o.Cause, o.Err = ByFault, err
	if errors.Is(err, ErrInvalid) {
		o.Cause = ByRequest
	}
	clear(o.Decisions) // a store may have begun to write
	return err
}

// complete gives every calendar take the edges that its limit remembers, and every
// take of a concurrency limit its slot.
func complete(takes []Take) {
	for i := range takes {
		switch t := &takes[i]; {
		case t.Limit.calendar() && t.Edges == nil:
			t.Edges = t.Limit.edges.Load()
		case t.Limit.slotted():
			t.claim()
		}
	}
}

// refreshEdges gives every calendar take edges around the store's time.
func refreshEdges(takes []Take, now Micros) {
	for i := range takes {
		if t := &takes[i]; t.Limit.calendar() {
			t.Edges = t.Limit.refreshEdges(now)
		}
	}
}

// conclude fills in what follows from the decisions.
func (o *Outcome) conclude(allowed bool) {
	o.Allowed = allowed
	for i := range o.Takes {
		if o.Takes[i].Join != All {
			continue
		}
		if allowed { // of a refused call nothing goes on
			o.Delay = max(o.Delay, o.Decisions[i].Delay)
		}
		if o.Decisions[i].Allowed == allowed && (o.Binding < 0 || o.tighter(i, o.Binding)) {
			o.Binding = i
		}
	}
	if !allowed {
		d := o.Decision()
		o.Never, o.RetryAfter = d.Never, d.RetryAfter
	}
}

// tighter reports whether take i binds more than take j, both of them refused
// or both allowed. The earlier one wins a tie.
func (o *Outcome) tighter(i, j int) bool {
	a, b := &o.Decisions[i], &o.Decisions[j]
	if !o.Allowed {
		return a.Never && !b.Never || a.Never == b.Never && a.RetryAfter > b.RetryAfter
	}
	return lessShare(a.Remaining, o.Takes[i].Limit.Capacity(), b.Remaining, o.Takes[j].Limit.Capacity())
}

// lessShare compares a/b < c/d without division.
func lessShare(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(d))
	h2, l2 := bits.Mul64(uint64(c), uint64(b))
	return h1 < h2 || h1 == h2 && l1 < l2
}
