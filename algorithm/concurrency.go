package algorithm

import "math"

// Concurrency admits Limit holders at once. Each has a lease: who neither gives his
// place back nor renews it holds it until that ends, and no longer.
//
// Formula: the list has the holders, each with the instant at which its lease ends;
// the state is the latest of these and the number of holders that are live. A holder
// is live for as long as its lease has not ended: end > now. Cost c, so many that
// hold nothing yet, pass iff live + c ≤ Limit. A refusal writes nothing.
//
// Bound: never more than Limit holders are live. It says nothing of how many come one
// after the other in a time. Readings of the clock that run back end no lease early;
// a jump ahead by J ends up to all of them early by as much.
//
// The wait that a refusal names is exact where nobody gives a place back: until so
// many leases have ended that the cost fits. Holders that are done before make it
// shorter.
//
// Changed numbers: holders beyond a smaller limit finish. A lease stays as it was
// given, until it is renewed, and renewing shortens none.
//
// A holder has a name, which the store knows: it looks for it among all holders, and
// asks for no more than are new. So who asks again, not knowing whether it was heard,
// counts once.
//
// Source: a counting semaphore with leases (C. Gray, D. Cheriton, "Leases", 1989).
type Concurrency struct {
	limit int64
	lease Micros
}

// NewConcurrency compiles limit holders at once, at most [MostEntries], whose leases
// last 1 ms or more. Errors are *FieldError and name what would be accepted.
func NewConcurrency(limit int64, lease Micros) (*Concurrency, error) {
	const shortest = 1000 // µs: one that cannot be renewed in time holds nothing
	switch {
	case limit < 1:
		return nil, refuse("count", limit, "a limit admits at least 1", `write "deny" to refuse everything, "unlimited" to limit nothing`)
	case limit > MostEntries:
		return nil, refuse("count", limit, "a concurrent limit remembers each holder, and has room for 4095", "write at most 4095")
	case lease < shortest:
		return nil, refuse("lease", lease, "it lasts at least 1ms", "write a longer one, such as 1m")
	case lease >= MaxMicros:
		return nil, refuse("lease", lease, "it lasts at most 142 years", "write a shorter one, such as 1m")
	}
	return &Concurrency{limit: limit, lease: lease}, nil
}

// Family is ConcurrencyFamily.
func (c *Concurrency) Family() Family { return ConcurrencyFamily }

// Capacity is the limit.
func (c *Concurrency) Capacity() int64 { return c.limit }

// Overdraft is the limit: nobody is made a holder by force.
func (c *Concurrency) Overdraft() int64 { return c.limit }

// Entries is the limit.
func (c *Concurrency) Entries() int { return int(c.limit) }

// Lease is how long a holder is live that is not renewed.
func (c *Concurrency) Lease() Micros { return c.lease }

// Most is MaxInt64 for t of 1 and more: holders that come and go are bounded at once,
// and not in a time.
func (c *Concurrency) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	return math.MaxInt64
}

// Pins are the lease: a key has its room until the last of its leases ends, or its
// last holder has given its place back.
func (c *Concurrency) Pins() (one, full Micros) { return c.lease, c.lease }

// Over is now: a lease that ends now has ended.
func (c *Concurrency) Over(_ State, now Micros) Micros { return now }

// current are the holders that are live.
func (c *Concurrency) current(s State, now Micros) tally {
	v := s.tally()
	if v.latest <= now {
		return tally{}
	}
	return v
}

// Touch leaves a state as it is.
func (c *Concurrency) Touch(s State, _ Moment) State { return s }

// Judge says whether cost new holders fit.
func (c *Concurrency) Judge(s State, m Moment, cost int64) Verdict {
	if cost > c.limit {
		return Verdict{Never: true}
	}
	v := c.current(s, m.Now)
	over := v.units + cost - c.limit
	if over <= 0 || cost == 0 {
		return Verdict{Allowed: true}
	}
	return Verdict{RetryAfter: v.until(m.List, m.Now, over) - m.Now}
}

// Charge makes cost new holders, whose leases begin now. The receipt says when they
// end.
func (c *Concurrency) Charge(s State, m Moment, cost int64) (State, Receipt) {
	if cost == 0 {
		return s, Receipt{}
	}
	v, end := c.current(s, m.Now), m.Now+c.lease
	return tally{max(v.latest, end), v.units + cost}.state(), Receipt{At: end, Cost: cost}
}

// Renewed is when a lease ends that is renewed now and was to end before: it becomes
// no shorter.
func (c *Concurrency) Renewed(now, end Micros) Micros { return max(end, now+c.lease) }

// Force makes as many of cost new holders as fit.
func (c *Concurrency) Force(s State, m Moment, cost int64) (State, Receipt) {
	v := c.current(s, m.Now)
	return c.Charge(s, m, max(0, min(cost, c.limit-v.units)))
}

// Refund gives nothing: a place is given back by the name of its holder.
func (c *Concurrency) Refund(s State, _ Moment, _ Receipt, _ int64) State { return s }

// Level is how many more holders there may be, and the time until the last lease
// ends.
func (c *Concurrency) Level(s State, m Moment) (remaining int64, reset Micros) {
	v := c.current(s, m.Now)
	if v.units > 0 {
		reset = v.latest - m.Now
	}
	return max(0, c.limit-v.units), reset
}

// Dead reports that no holder is live.
func (c *Concurrency) Dead(s State, now Micros) bool {
	v := s.tally()
	return v.units == 0 || v.latest <= now
}
