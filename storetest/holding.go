package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// CheckSlots holds a history against a concurrency limit: for every key, at no time
// were more holders live than the limit admits. Like [CheckWindows] it raises no false
// alarm: a slot counts from when its holder has been told that he has it, until he may
// have given it back or his lease may have ended, whichever is first. It takes the
// store's clock to run as fast as the recorder's.
//
// What passed uncounted, in mode open, does not count. Where one state was judged by
// several limits, the most generous one is to be given.
func CheckSlots(h History, l *weir.Limit) error {
	if l.Spec().Algorithm != weir.Concurrency {
		return fmt.Errorf("storetest: limit %s has no slots", l.Name())
	}
	for _, k := range keysOf(h, l) {
		if err := checkHeld(holdings(h, l, k), l.Capacity()); err != nil {
			return fmt.Errorf("storetest: limit %s %s, key %x: %w", l.Name(), l, k, err)
		}
	}
	return nil
}

// A holding is a stretch of time within which somebody holds a slot for certain.
type holding struct {
	id          weir.SlotID
	from, until time.Duration
}

// holdings lists them for one key, by their beginning: one for each take and each
// renewal.
func holdings(h History, l *weir.Limit, k weir.Key) []holding {
	lease := time.Duration(slotLawOf(l.Spec()).length) * time.Microsecond
	var list []holding
	for i := range h {
		op := &h[i]
		for _, id := range op.given(l, k) {
			held := holding{id: id, from: op.Return, until: op.Call + lease - time.Microsecond} // of which the store may have seen only a part
			held.until = min(held.until, letGoAfter(h, l, k, id, op.Call))
			if held.from < held.until {
				list = append(list, held)
			}
		}
	}
	slices.SortFunc(list, func(a, b holding) int { return cmp.Compare(a.from, b.from) })
	return list
}

// given are the slots that a call has given for a whole lease.
func (op *Operation) given(l *weir.Limit, k weir.Key) (ids []weir.SlotID) {
	if op.Err != nil {
		return nil
	}
	for i, t := range op.Takes {
		d := &op.Decisions[i]
		if t.Limit.ID() == l.ID() && t.Key == k && t.How&weir.Peek == 0 && d.Granted > 0 && d.Mode != weir.Open {
			ids = append(ids, t.Slot)
		}
	}
	for _, r := range op.Returns {
		if r.Limit.ID() == l.ID() && r.Key == k && r.Renew {
			ids = append(ids, r.Slot)
		}
	}
	return ids
}

// letGoAfter is the earliest instant at which a slot may have been given back, or
// forgotten, that was given after another.
func letGoAfter(h History, l *weir.Limit, k weir.Key, id weir.SlotID, given time.Duration) time.Duration {
	first := time.Duration(1<<63 - 1)
	for i := range h {
		op := &h[i]
		if op.Return <= given {
			continue
		}
		released := func(r weir.Return) bool {
			return r.Limit.ID() == l.ID() && r.Key == k && r.Slot == id && !r.Renew
		}
		reset := func(r weir.Return) bool { return r.Limit != nil && r.Limit.ID() == l.ID() && r.Key == k }
		if !refusedOutright(op.Err) && slices.ContainsFunc(op.Returns, released) || slices.ContainsFunc(op.Reset, reset) {
			first = min(first, op.Call)
		}
	}
	return first
}

// checkHeld counts the holders at the beginning of each holding.
func checkHeld(list []holding, limit int64) error {
	for _, now := range list {
		ids := map[weir.SlotID]bool{}
		for _, other := range list {
			if other.from <= now.from && now.from < other.until {
				ids[other.id] = true
			}
		}
		if int64(len(ids)) > limit {
			return fmt.Errorf("%d holders are live at %v, %d is the most", len(ids), now.from, limit)
		}
	}
	return nil
}
