package weir

import "fmt"

// CheckTakes refuses what no store may be asked: it is the first thing that a
// Take does. Errors match [ErrInvalid].
func CheckTakes(takes []Take, out []Decision) error {
	if len(takes) > MaxTakes {
		return Invalid("takes", len(takes), "too many for one call", fmt.Sprintf("at most %d", MaxTakes))
	}
	if len(out) != len(takes) {
		return Invalid("decisions", len(out), fmt.Sprintf("there are %d takes", len(takes)), "make out as long as takes")
	}
	for i := range takes {
		if err := checkTake(&takes[i]); err != nil {
			return err
		}
		if err := checkTwin(takes[:i], &takes[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkTake(t *Take) error {
	const every = Peek | Partial | Always | Force | Strike
	switch {
	case t.Limit == nil:
		return Invalid("limit", "nil", "it was not built", "check the error of ParseLimit")
	case t.Limit.Algorithm() == nil:
		return Invalid("limit", t.Limit.Name(), "unlimited and deny have no states", "decide them before the store")
	case t.Join > Alone:
		return Invalid("join", t.Join, "no such join", "use All, Advise or Alone")
	case t.How&^every != 0:
		return Invalid("how", t.How, "unknown bits", "use Peek, Partial, Always, Force or Strike")
	case t.How&Force != 0 && t.How != Force:
		return Invalid("how", t.How, "Force goes with nothing else", "")
	case t.How&Always != 0 && t.How != Always:
		return Invalid("how", t.How, "Always goes with nothing else", "")
	case t.How&(Strike|Peek) == Strike:
		return Invalid("how", t.How, "Strike goes with Peek", "leave it out: what is charged strikes by itself")
	case t.How&Strike != 0 && t.Cost == 0:
		return Invalid("cost", t.Cost, "who asks for nothing is not blocked for that", "to look without Strike, use Peek alone")
	case t.Limit.slotted():
		return checkSlot(t)
	case t.Slot != SlotID{}:
		return errNoSlots(t.Limit)
	}
	return checkCost(t.Cost, t.How)
}

// checkSlot refuses what nobody can ask of a concurrency limit.
func checkSlot(t *Take) error {
	peek := t.How&Peek != 0
	switch {
	case t.How&(Always|Force) != 0:
		return Invalid("how", t.How, "nobody is given a slot by force", "use 0, or Peek")
	case t.Cost != 1 && (!peek || t.Cost != 0):
		return Invalid("cost", t.Cost, "a take asks for one slot", "use 1, or a take for each; 0 with Peek to look")
	case t.Slot == SlotID{} && !peek:
		return Invalid("slot", "", "limit "+t.Limit.Name()+" is one of slots, and this is nobody's", "name the holder by a SlotID of its own")
	}
	return nil
}

func errNoSlots(l *Limit) error {
	return Invalid("slot", l.Name(), "the limit has no slots", "leave Slot and Renew to limits such as 5 concurrent")
}

// checkCost refuses costs that no take can have.
func checkCost(cost int64, how How) error {
	switch {
	case cost < 0:
		return Invalid("cost", cost, "a cost is not negative", "to give units back use Refund")
	case cost == 0 && how&Peek == 0:
		return Invalid("cost", cost, "a take asks for at least 1 unit", "to look without taking use Peek")
	}
	return nil
}

// checkTwin refuses a second take on the same state with other numbers, for one
// state is judged by one limit, and one for the same holder.
func checkTwin(before []Take, t *Take) error {
	for i := range before {
		b := &before[i]
		if b.Limit != t.Limit && b.Key == t.Key && b.Limit.ID() == t.Limit.ID() && b.Limit.Spec() != t.Limit.Spec() {
			return Invalid("limit", t.Limit.Name(), "two takes of one call judge the same state by different numbers", "use one version of the limit in a call")
		}
		if t.Slot != (SlotID{}) && b.Slot == t.Slot && b.Key == t.Key && b.Limit.ID() == t.Limit.ID() {
			return Invalid("slot", t.Limit.Name(), "two takes of one call are for the same holder", "give each a SlotID of its own, or ask once")
		}
	}
	return nil
}

// CheckReturns refuses what no store may be given back: it is the first thing
// that a Return does. Errors are those of CheckTakes.
func CheckReturns(returns []Return) error {
	if len(returns) > MaxTakes {
		return Invalid("returns", len(returns), "too many for one call", fmt.Sprintf("at most %d", MaxTakes))
	}
	for i := range returns {
		r := &returns[i]
		slotted := r.Limit.slotted()
		switch {
		case r.Limit == nil || r.Limit.Algorithm() == nil:
			return Invalid("limit", "nil", "it has no states", "return what a take was given")
		case slotted && r.Slot == SlotID{}:
			return Invalid("slot", "", "limit "+r.Limit.Name()+" is one of slots, and this is nobody's", "return the SlotID of the take")
		case slotted && (r.Units != 0 || r.Receipt != Receipt{}):
			return Invalid("units", r.Units, "a slot is given back by its holder's name", "leave Units and Receipt empty")
		case slotted:
		case r.Slot != SlotID{} || r.Renew:
			return errNoSlots(r.Limit)
		case r.Units < 1 || r.Units > r.Receipt.Cost:
			return Invalid("units", r.Units, fmt.Sprintf("the receipt is for %d", r.Receipt.Cost), "return 1 unit up to all of them")
		}
	}
	return nil
}
