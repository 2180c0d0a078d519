package storetest

import "github.com/weirhq/weir"

// departures is the usage of a leaky bucket: what it let pass counts when it was
// to go on, as far as none of it came back.
//
// A receipt names the place in the queue that was charged. Where two charges have
// had the same one, after the first came back, they are alike for what is counted
// here: they were to go on at the same instant.
func departures(h History, l *weir.Limit, k weir.Key) usage {
	back := cameBack(h, l, k)
	var u usage
	for i := range h {
		op := &h[i]
		seen := op.stretch()
		for j, t := range op.Takes {
			if op.Err != nil || t.Limit.ID() != l.ID() || t.Key != k || t.How&(weir.Peek|weir.Force) != 0 {
				continue
			}
			d := &op.Decisions[j]
			place := placeOf(d.Receipt)
			kept := max(0, d.Granted-back[place])
			back[place] -= d.Granted - kept
			if kept > 0 {
				u.admitted = append(u.admitted, use{from: seen.from + d.Delay, to: seen.to + d.Delay, units: kept})
			}
		}
		for _, r := range op.Reset {
			if r.Limit != nil && r.Limit.ID() == l.ID() && r.Key == k {
				seen.to += longestDelay(l) // until then, what the reset forgot goes on
				u.resets = append(u.resets, seen)
			}
		}
	}
	u.sort()
	return u
}

// placeOf is a receipt without its units.
func placeOf(r weir.Receipt) weir.Receipt {
	r.Cost = 0
	return r
}

// cameBack sums up what came back of each place, or may have.
func cameBack(h History, l *weir.Limit, k weir.Key) map[weir.Receipt]int64 {
	back := map[weir.Receipt]int64{}
	for i := range h {
		if refusedOutright(h[i].Err) {
			continue
		}
		for _, r := range h[i].Returns {
			if r.Limit.ID() == l.ID() && r.Key == k {
				back[placeOf(r.Receipt)] += r.Units
			}
		}
	}
	return back
}

// longestDelay is more than any take of a limit is held.
func longestDelay(l *weir.Limit) weir.Micros {
	law := queueLawOf(l.Spec())
	return timeOf(law.bound(), law.rate)
}
