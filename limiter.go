package weir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Limiter puts one or several limits on the same key, all or nothing. Make it
// with [New]; the zero Limiter answers every call with an error. It is immutable
// and safe for concurrent use. Allow allocates nothing; Take, Peek, TakeAll and
// Refund allocate nothing when they are given an Outcome that has been used
// before.
//
// Contexts are handed to the store as they are: a store in this process never
// waits and does not look at them. A nil context is an error.
type Limiter struct {
	store  Store
	keyer  Keyer
	limits []*Limit // without the unlimited ones
	deny   bool
	slots  bool      // there are concurrency limits
	rooms  sync.Pool // *room, for Allow
}

// New joins limits with a store, [MaxTakes] at most. The limits need different names, and
// different names of their states; an unlimited one costs nothing, and one that denies refuses everything before the store is
// asked. Without limits everything passes. A store whose room is bounded is told
// which limits to expect. Errors are [*FieldError], or what the store says to
// that.
func New(store Store, limits ...*Limit) (*Limiter, error) {
	if store == nil {
		return nil, errNoStore()
	}
	l := &Limiter{store: store, keyer: store.Keyer()}
	names, states := map[string]bool{}, map[string]bool{}
	for _, limit := range limits {
		switch {
		case !limit.built():
			return nil, errNoLimit()
		case names[limit.name]:
			return nil, Invalid("limit", limit.name, "two limits have this name and would share their states", "name them <rule>/<slot>")
		case states[limit.states]:
			return nil, Invalid("limit", limit.name, "its states are those of another limit here, "+limit.states, "keep the states of a limit that is gone")
		case limit.spec.Algorithm == Deny:
			l.deny = true
		case limit.spec.Algorithm != Unlimited:
			l.limits = append(l.limits, limit)
			l.slots = l.slots || limit.slotted()
		}
		names[limit.name], states[limit.states] = true, true
	}
	if len(l.limits) > MaxTakes {
		return nil, errTooMany(len(l.limits))
	}
	if err := expect(store, l.limits); err != nil {
		return nil, err
	}
	return l, nil
}

// expect is what package internal/expect does for others, which stand above this one.
func expect(store Store, limits []*Limit) error {
	s, ok := store.(interface{ Expect(limits ...*Limit) error })
	if !ok {
		return nil
	}
	return s.Expect(limits...)
}

func errNoStore() error {
	return Invalid("store", "nil", "a limiter needs a store", "make one with memstore.New, and the limiter with weir.New")
}

func errNoLimit() error {
	return Invalid("limit", "nil", "it was not built", "check the error of ParseLimit")
}

func errTooMany(n int) error {
	return Invalid("limits", n, "too many for one call", fmt.Sprintf("at most %d", MaxTakes))
}

// Allow takes one unit of every limit for the key made of parts, and says
// whether it was granted. What would have to wait for a leaky bucket is not: it is
// given back, and Take says for how long. Limits that give slots are [ErrInvalid],
// since nobody could release them: that takes Acquire. On an error nothing is known
// to be granted: the answer is false.
func (l *Limiter) Allow(ctx context.Context, parts ...Part) (bool, error) {
	switch {
	case l.slots:
		return false, errNoHolder()
	case l.deny:
		return false, nil
	}
	if err := checkCall(ctx, l.store); err != nil || len(l.limits) == 0 {
		return err == nil, err
	}
	r, _ := l.rooms.Get().(*room)
	if r == nil {
		r = new(room)
	}
	takes, decisions := r.takes[:len(l.limits)], r.decisions[:len(l.limits)]
	l.fill(takes, parts, 1, 0)
	allowed, _, err := ask(ctx, l.store, takes, decisions)
	if allowed && err == nil && delayed(decisions) {
		return false, GiveBack(ctx, l.store, &Outcome{Takes: takes, Decisions: decisions})
	}
	l.rooms.Put(r) // not after a panic of the store, which may have it in hand
	return allowed && err == nil, err
}

func delayed(decisions []Decision) bool {
	for i := range decisions {
		if decisions[i].Delay > 0 {
			return true
		}
	}
	return false
}

func errNoHolder() error {
	return Invalid("limit", "concurrent", "Allow keeps nothing by which its slot could be released", "use Acquire")
}

// room is what Allow hands to the store.
type room struct {
	takes     [MaxTakes]Take
	decisions [MaxTakes]Decision
}

// Take asks every limit for cost units, 1 or more, of the key made of parts,
// and charges all of them or none. What was found stands in o. A cost above the
// capacity of a limit is no error, but refused for ever (Never). What a leaky
// bucket lets pass is to wait for as long as o's Delay says, or to be given back
// (Refund).
//
// A concurrency limit gives one slot, whatever the cost. It lasts for a lease: keep
// it (Keep, or Acquire in the place of Take) for work that may take longer, and
// release it when that is done.
//
// An error means that nothing was decided: [ErrInvalid], or what the store
// says. o is then refused, ByRequest or ByFault.
func (l *Limiter) Take(ctx context.Context, o *Outcome, cost int64, parts ...Part) error {
	return l.take(ctx, o, cost, 0, parts)
}

// Peek says what Take would of a cost of 0 or more, charges nothing and begins no block.
// A cost of 0 asks for what is left, and is allowed where nothing is, too, unless the key
// is blocked, a limit denies, or a full store refuses. Errors are those of Take.
func (l *Limiter) Peek(ctx context.Context, o *Outcome, cost int64, parts ...Part) error {
	return l.take(ctx, o, cost, Peek, parts)
}

func (l *Limiter) take(ctx context.Context, o *Outcome, cost int64, how How, parts []Part) error {
	if o == nil {
		return errNoOutcome()
	}
	if err := checkCost(cost, how); err != nil {
		o.Reset()
		return o.fault(err)
	}
	if l.deny {
		o.Refuse(ByDeny, nil)
		return nil
	}
	n := len(l.limits)
	clear(o.Takes[min(n, len(o.Takes)):]) // lets go of limits and edges
	o.Takes = slices.Grow(o.Takes[:0], n)[:n]
	l.fill(o.Takes, parts, cost, how)
	return Decide(ctx, l.store, o)
}

// fill makes a take of each limit, whatever those were before. It is field by field, and
// the key is made in its place: what is made as a whole is made beside its place and then
// copied, for which the processor has to wait.
func (l *Limiter) fill(takes []Take, parts []Part, cost int64, how How) {
	if len(takes) == 0 {
		return
	}
	tag := l.keyer.put(&takes[0].Key, parts)
	for i, limit := range l.limits {
		t := &takes[i]
		t.Limit, t.Tag, t.Cost, t.Join, t.How = limit, tag, cost, All, how
		t.Slot, t.Edges = SlotID{}, nil
		if i > 0 {
			t.Key = takes[0].Key
		}
	}
}

// TakeAll decides takes whose limits and keys are the caller's own, at most
// MaxTakes of them, as one call; the limits of the Limiter play no part. Keys
// come from Key. Limits that are unlimited are left out of o; one that denies
// refuses the call. They may not be o.Takes, which is emptied first: to ask again for
// those use [Decide]. Errors are those of Take.
func (l *Limiter) TakeAll(ctx context.Context, o *Outcome, takes ...Take) error {
	if o == nil {
		return errNoOutcome()
	}
	o.Reset()
	denied := false
	for i := range takes {
		t := &takes[i]
		if !t.Limit.built() {
			return o.fault(errNoLimit())
		}
		if err := checkCost(t.Cost, t.How); err != nil {
			return o.fault(err)
		}
		switch t.Limit.spec.Algorithm {
		case Deny:
			denied = true
		case Unlimited:
		default:
			o.Takes = append(o.Takes, *t)
		}
	}
	if denied {
		o.Refuse(ByDeny, nil)
		return nil
	}
	return Decide(ctx, l.store, o)
}

// Limits are those that a call is charged under, in the order of New: not those that
// are unlimited or deny. The slice is the caller's.
func (l *Limiter) Limits() []*Limit { return slices.Clone(l.limits) }

// Key makes the key and tag that a Take needs.
func (l *Limiter) Key(parts ...Part) (Key, uint64) { return l.keyer.Key(parts...) }

// Refund gives back all that o was charged, slots too: for work that was let in and
// then not done. It happens once, however often it is called. What has flowed back
// by itself is not given twice, so that a refund at once loses nothing and a
// late one may give nothing; units that were charged on a state shared for want of room
// ([Overflow]) stay charged. After an error that is [ErrNotApplied] it may be
// tried again; after any other it counts as done.
func (l *Limiter) Refund(ctx context.Context, o *Outcome) error {
	return GiveBack(ctx, l.store, o)
}

// Reset forgets what the key made of parts has used, under every limit, one after the
// other: blocks, and slots too, whose holders are not told. A key that shares its state
// for want of room cannot be reset: [ErrNotApplied], and the other limits are reset all
// the same. Other errors are those of the store, joined.
func (l *Limiter) Reset(ctx context.Context, parts ...Part) error {
	if err := checkCall(ctx, l.store); err != nil {
		return err
	}
	key, _ := l.keyer.Key(parts...)
	var errs []error
	for _, limit := range l.limits {
		errs = append(errs, l.store.Reset(ctx, limit, key))
	}
	return errors.Join(errs...)
}
