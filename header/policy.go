package header

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
)

// A policy is what does not change about a limit's fields.
type policy struct {
	name     string // as a structured field's String, quoted
	item     string // the member of RateLimit-Policy
	total    string // X-RateLimit-Limit
	capacity int64

	algorithm weir.Algorithm
	count     int64
	period    weir.Micros // 0 for a calendar month, and for slots
	longest   weir.Micros // that a queue may be waited in, where that is what bounds it; else 0
}

// newPolicy makes the policy of a limit, nil for one that no field can tell of:
// that has no numbers, or a name that is no text of a field.
func newPolicy(name string, s weir.Spec, capacity int64) *policy {
	quoted, ok := appendString(nil, name)
	if !ok || capacity < 1 || s.Count < 1 {
		return nil
	}
	p := &policy{
		name:      string(quoted),
		total:     strconv.FormatInt(capacity, 10),
		capacity:  capacity,
		algorithm: s.Algorithm,
		count:     s.Count,
		period:    weir.Micros(s.Period.Microseconds()),
	}
	if s.Queue == 0 || capacity <= s.Queue { // its places are not what bounds it
		p.longest = weir.Micros(s.Wait.Microseconds())
	}
	p.item = string(p.describe(quoted))
	return p
}

// describe appends the parameters of the member of RateLimit-Policy.
func (p *policy) describe(b []byte) []byte {
	q, w := quota(p.count, p.period)
	b = appendParameter(b, ";q=", q)
	if p.algorithm == weir.Concurrency {
		b = append(b, `;qu="concurrent-requests"`...)
	}
	if w > 0 {
		b = appendParameter(b, ";w=", w)
	}
	if burst := clamp(p.capacity); burst != q {
		b = appendParameter(b, ";weir-burst=", burst)
	}
	return b
}

// state appends the member of RateLimit.
func (p *policy) state(b []byte, t *weir.Take, d *weir.Decision) []byte {
	r := clamp(d.Remaining)
	b = appendParameter(append(b, p.name...), ";r=", r)
	if w := p.window(t, d, r); w > 0 {
		b = appendParameter(b, ";t=", w)
	}
	if d.Mode != weir.Exact && d.Mode != weir.Leased {
		b = append(append(b, ";weir-mode="...), d.Mode.String()...)
	}
	return b
}

func appendParameter(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

// maxPolicies is how many limits are remembered. A rules file has tens; limits
// that callers bring with each request must not pile up.
const maxPolicies = 4096

// policies remembers the policies of limits. When it is full it begins anew,
// so that limits of rules long gone make room, and a stream of limits that are
// each seen once costs no more than a map's insertion. The zero value is empty
// and ready; it is safe for concurrent use.
type policies struct {
	known sync.Map // *weir.Limit → *policy
	count atomic.Int64
}

// of returns the policy of l, which may be nil.
func (p *policies) of(l *weir.Limit) *policy {
	if v, ok := p.known.Load(l); ok {
		known, _ := v.(*policy)
		return known
	}
	made := newPolicy(l.Name(), l.Spec(), l.Capacity())
	if p.count.Load() >= maxPolicies {
		p.known.Clear()
		p.count.Store(0)
	}
	if _, loaded := p.known.LoadOrStore(l, made); !loaded {
		p.count.Add(1)
	}
	return made
}
