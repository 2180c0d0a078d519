package decide

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/fault"
	"github.com/weirhq/weir/cmd/weir/internal/problem"
	"github.com/weirhq/weir/memstore"
)

// longestKey is more than any identifier that is worth counting by.
const longestKey = 4096

// take answers /v1/take.
func (h *Handler) take(w http.ResponseWriter, r *http.Request, body []byte) *problem.Problem {
	t, refusal := h.readTake(body)
	if refusal != nil {
		return refusal
	}
	o := &weir.Outcome{}
	switch t.Limit.Spec().Algorithm {
	case weir.Unlimited:
		o.Pass()
	case weir.Deny:
		o.Refuse(weir.ByDeny, nil)
	default:
		o.Takes = append(o.Takes, t)
		if err := weir.Decide(r.Context(), h.config.Store, o); err != nil {
			h.config.Took(o)
			return undecided(w, err)
		}
	}
	h.config.Took(o)
	answer(w, r, takeAnswer(t.Limit, o))
	return nil
}

// readTake makes a take of a body.
func (h *Handler) readTake(body []byte) (weir.Take, *problem.Problem) {
	m := &mistakes{}
	f := fields{parse(body, m).members, m}
	if p := m.problem(); p != nil && f.members == nil {
		return weir.Take{}, p // of what is no object nothing is missing
	}
	f.only("key", "limit", "cost", "peek")
	key, _ := f.needed("key", longestKey, "name who is counted, as in user:42")
	t := weir.Take{Cost: max(1, f.cost("cost"))}
	if f.flag("peek") {
		t.How = weir.Peek
	}
	if text, ok := f.needed("limit", longestLimit, `write a limit, as in "5/s burst 20"`); ok {
		var err error
		if t.Limit, err = h.limits.get(text); err != nil {
			f.refuseLimit(err)
		}
	}
	if p := m.problem(); p != nil {
		return weir.Take{}, p
	}
	t.Key, t.Tag = h.keyer.Key(weir.Text(Namespace, key))
	return t, nil
}

// undecided says that the store did not decide, and whether it may have charged.
func undecided(w http.ResponseWriter, err error) *problem.Problem {
	kind := fault.Of(err)
	room, small := errors.AsType[*memstore.RoomError](err)
	switch {
	case kind == fault.Invalid && small:
		m := &mistakes{}
		m.add("limit", fmt.Sprintf("%s: %s", room.Limit, room.Problem), moreRoom(room)+", or lower the limit's count")
		return m.problem()
	case kind == fault.Invalid, kind == fault.Unsupported:
		return badRequest(plainly(err))
	}
	retryable := errors.Is(err, weir.ErrNotApplied)
	p := &problem.Problem{Status: http.StatusServiceUnavailable, Retryable: &retryable}
	if retryable {
		w.Header().Set("Retry-After", "1")
		p.Detail = plainly(err)
		if small {
			p.Detail = fmt.Sprintf("limit %s is one more than the table has room for: %s; %s, or ask under fewer limits", room.Limit, room.Problem, moreRoom(room))
		}
		p.Detail += ": nothing was charged, and the same may be sent again"
		return p
	}
	p.Detail = "the store could not say whether it has charged (" + kind.String() + "): to send the same again may charge twice"
	return p
}

// moreRoom is the remedy for a table that is too small, for who wrote a rules file.
func moreRoom(e *memstore.RoomError) string {
	const field = "memory.max_keys in the daemon's rules file"
	if e.Enough == 0 {
		return "raise " + field
	}
	return fmt.Sprintf("set %s to %d or more", field, e.Enough)
}

// longestDetail is how much of a store's error is told.
const longestDetail = 300

// plainly is the text of a store's error. It holds no key: a store knows none.
func plainly(err error) string {
	text := strings.TrimPrefix(err.Error(), "weir: ")
	if len(text) > longestDetail {
		text = text[:longestDetail] + "…"
	}
	return text
}
