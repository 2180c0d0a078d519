package header

import (
	"math/bits"
	"net/http"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// Writer writes what outcomes found into answers. It comes from [New] and is
// safe for concurrent use. It remembers the texts of some thousands of limits,
// and keeps nothing of outcomes, headers and requests.
type Writer struct {
	config   Config
	exposed  string
	policies policies
	random   func(n int64) int64 // 0 ≤ … < n
}

// Write puts the fields of o into h, once for each answer and outcome: the
// RateLimit families, Retry-After where a refusal has one, X-Weir-Decided where
// it is asked for. Nothing else is written for an outcome that no limit
// decided.
//
// Call it before the handler runs, or, in a proxy, on the upstream's answer.
// RateLimit and RateLimit-Policy join what stands in h, the others replace it.
// h may not be nil.
func (w *Writer) Write(h http.Header, o *weir.Outcome) {
	var (
		list   [writeFields]field
		buffer [textRoom]byte
		room   [weir.MaxTakes]member
	)
	f := fields{list: list[:]}
	text := w.collect(&f, buffer[:0], o, w.members(o, room[:0]), w.retryAfter(o))
	f.write(h, text)
}

// Expose lets scripts in browsers read the fields: where r comes from a page
// (it has an Origin), Access-Control-Expose-Headers names them, beside the
// names that stand in h. An answer that a cache keeps does not vary by it:
// the fields mean nothing once an answer has been stored.
func (w *Writer) Expose(h http.Header, r *http.Request) {
	if w.exposes(r) {
		h[keyExpose] = behind(h[keyExpose], []string{w.exposed})
	}
}

func (w *Writer) exposes(r *http.Request) bool {
	return w.exposed != "" && len(r.Header["Origin"]) > 0
}

// collect gathers the fields that belong on every answer, and appends to text
// what they are made of. retry is 0 where there is no Retry-After.
func (w *Writer) collect(f *fields, text []byte, o *weir.Outcome, m []member, retry int64) []byte {
	if len(m) > 0 && !w.config.NoRateLimit {
		text = rateLimit(f, text, o, m)
	}
	if len(m) > 0 && !w.config.NoLegacy {
		text = w.legacy(f, text, o, m)
	}
	if retry > 0 {
		text = f.number(text, keyRetryAfter, retry)
	}
	if w.config.Debug && o.Stamp.Now > 0 {
		text = f.number(text, keyDecided, int64(o.Stamp.Now))
	}
	return text
}

// rateLimit gathers RateLimit and RateLimit-Policy, each on one line: many
// clients see the first line of a field alone.
func rateLimit(f *fields, text []byte, o *weir.Outcome, members []member) []byte {
	from := len(text)
	for i, m := range members {
		text = m.policy.state(comma(text, i), &o.Takes[m.take], &o.Decisions[m.take])
	}
	f.addText(text, keyRateLimit, from)
	if len(members) == 1 {
		f.add(keyPolicy, members[0].policy.item)
		return text
	}
	from = len(text)
	for i, m := range members {
		text = append(comma(text, i), m.policy.item...)
	}
	f.addText(text, keyPolicy, from)
	return text
}

// comma begins the i-th member of a list.
func comma(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ", "...)
}

// legacy gathers X-RateLimit of the rate that bound.
func (w *Writer) legacy(f *fields, text []byte, o *weir.Outcome, members []member) []byte {
	bound, ok := bindingRate(o, members)
	if !ok {
		return text
	}
	d := &o.Decisions[bound.take]
	f.set(keyLimit, bound.policy.total)
	text = f.number(text, keyRemaining, max(0, d.Remaining))
	reset := max(0, d.ResetAfter)
	switch {
	case !w.config.EpochReset:
		text = f.number(text, keyReset, reset.Ceil(time.Second))
	case o.Stamp.Now > 0: // without a time there is no instant to name
		text = f.number(text, keyReset, sum(o.Stamp.Now, reset).Ceil(time.Second))
	}
	return text
}

// bindingRate is the limit that bound, or where that is of slots the rate of which the
// least share is left. Of slots these fields cannot tell: they have no time at which more
// are there, and who reads one waits for it, although his own request frees the slot when
// it is answered.
func bindingRate(o *weir.Outcome, members []member) (bound member, ok bool) {
	slots, found := false, false
	for _, m := range members {
		binds := o.Takes[m.take].Limit == o.Limit()
		switch {
		case m.policy.algorithm == weir.Concurrency:
			slots = slots || binds
		case binds:
			m.take = o.Binding
			return m, true
		case !found || lessLeft(&o.Decisions[m.take], m.policy, &o.Decisions[bound.take], bound.policy):
			bound, found = m, true
		}
	}
	return bound, slots && found
}

// lessLeft reports whether of a a smaller share is left than of b.
func lessLeft(a *weir.Decision, of *policy, b *weir.Decision, other *policy) bool {
	h1, l1 := bits.Mul64(uint64(max(0, a.Remaining)), uint64(other.capacity))
	h2, l2 := bits.Mul64(uint64(max(0, b.Remaining)), uint64(of.capacity))
	return h1 < h2 || h1 == h2 && l1 < l2
}

// A member is a limit that an answer tells of, and the take that speaks for it.
type member struct {
	policy *policy
	take   int
}

// members appends to list the limits that an answer tells of: those that may
// refuse the call. A limit that was asked for several keys is named once, by
// the take that binds most. There are none where no limit decided.
func (w *Writer) members(o *weir.Outcome, list []member) []member {
	if o.Cause != weir.ByLimits || o.Limit() == nil || len(o.Decisions) < len(o.Takes) {
		return list
	}
	for i := range o.Takes {
		l := o.Takes[i].Limit
		if o.Takes[i].Join != weir.All || l == nil {
			continue
		}
		p := w.policies.of(l)
		if p == nil {
			continue
		}
		if j := slices.IndexFunc(list, func(m member) bool { return m.policy.name == p.name }); j < 0 {
			list = append(list, member{p, i})
		} else if tighter(&o.Decisions[i], &o.Decisions[list[j].take]) {
			list[j] = member{p, i}
		}
	}
	return list
}

// tighter reports whether a binds more than b, which is of the same limit. What
// is allowed waits for nothing, and so never binds more than a refusal.
func tighter(a, b *weir.Decision) bool {
	switch {
	case a.Never != b.Never:
		return a.Never
	case a.RetryAfter != b.RetryAfter:
		return a.RetryAfter > b.RetryAfter
	}
	return a.Remaining < b.Remaining
}
