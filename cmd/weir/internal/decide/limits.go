package decide

import (
	"errors"
	"strings"
	"sync"

	"github.com/weirhq/weir"
)

// Namespace is the rule that callers' own limits belong to, and the kind of their
// keys: no rule of a file shares a state with them.
const Namespace = "take"

const (
	// mostLimits is how many texts are remembered: far more than a service has
	// limits.
	mostLimits = 1024
	// longestLimit is beyond every limit that can be written.
	longestLimit = 256
)

// limits remembers limits by their texts. The zero limits is empty.
type limits struct {
	mu    sync.RWMutex
	known map[string]*weir.Limit
}

// get gives the limit of a text. It is named by its period alone: a caller who
// brings other numbers keeps what was used.
func (c *limits) get(text string) (*weir.Limit, error) {
	c.mu.RLock()
	l := c.known[text]
	c.mu.RUnlock()
	if l != nil {
		return l, nil
	}
	spec, err := weir.ParseSpec(text)
	switch {
	case err != nil:
		return nil, err
	case spec.Algorithm == weir.Concurrency: // nobody would tell when a slot is free again
		return nil, weir.Invalid(spec.Algorithm.String(), "", "it counts requests in flight, and only the proxy knows when they are over", "write a rate, as in \"10/min\"")
	}
	l, err = weir.ParseLimit(Namespace+"/"+spec.Slot(), text)
	if err != nil {
		return nil, err
	}
	c.keep(text, l)
	return l, nil
}

// keep remembers a limit, in the place of any other when there are too many. The
// text may be a part of a larger one, which is not kept for its sake.
func (c *limits) keep(text string, l *weir.Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*weir.Limit{}
	}
	for other := range c.known {
		if len(c.known) < mostLimits {
			break
		}
		delete(c.known, other)
	}
	c.known[strings.Clone(text)] = l
}

// refuseLimit notes what is wrong with a limit's text.
func (f fields) refuseLimit(err error) {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, e := range several.Unwrap() {
			f.refuseLimit(e)
		}
		return
	}
	if e, ok := errors.AsType[*weir.FieldError](err); ok {
		f.add("limit", strings.TrimPrefix((&weir.FieldError{Field: e.Field, Value: e.Value, Problem: e.Problem}).Error(), "weir: "), e.Remedy)
		return
	}
	f.add("limit", strings.TrimPrefix(err.Error(), "weir: "), "")
}
