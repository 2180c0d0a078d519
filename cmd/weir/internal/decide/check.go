package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/problem"
	"github.com/weirhq/weir/policy"
)

// checkAnswer is the answer of /v1/check.
type checkAnswer struct {
	Allowed      bool              `json:"allowed"`
	Status       int               `json:"status"`
	Binding      string            `json:"binding,omitempty"` // the limit that decided, or the rule where none did
	Reason       string            `json:"reason,omitempty"`  // of a refusal that no limit made: the word of its cause
	Detail       string            `json:"detail,omitempty"`  // of the same: what the proxy would tell people
	RetryAfterMS *int64            `json:"retry_after_ms,omitempty"`
	DelayMS      int64             `json:"delay_ms,omitempty"` // allowed: to wait for so long before it goes on
	Never        bool              `json:"never,omitempty"`
	Blocked      bool              `json:"blocked,omitempty"` // by the block of the limit that decided
	DecidedAt    int64             `json:"decided_at,omitempty"`
	Headers      map[string]string `json:"headers"`
	Policies     []policyAnswer    `json:"policies"`
}

// policyAnswer is one limit's part of it.
type policyAnswer struct {
	Rule         string `json:"rule"`
	Limit        string `json:"limit"`
	Shadow       bool   `json:"shadow"`
	Allowed      bool   `json:"allowed"`
	Count        int64  `json:"count"`
	Capacity     int64  `json:"capacity"`
	Remaining    int64  `json:"remaining"`
	RetryAfterMS *int64 `json:"retry_after_ms,omitempty"`
	DelayMS      int64  `json:"delay_ms,omitempty"`
	Never        bool   `json:"never,omitempty"`
	Blocked      bool   `json:"blocked,omitempty"`
	ResetAfterMS int64  `json:"reset_after_ms"`
	Mode         string `json:"mode"`
}

// ExplainAnswer is an explanation with what a proxy would answer.
type ExplainAnswer struct {
	policy.Explanation

	Status  int               `json:"status"`  // with which a proxy would answer; 200 when allowed
	Headers map[string]string `json:"headers"` // the fields that it would send
}

// check answers /v1/check.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, body []byte) *problem.Problem {
	asked, refusal := readRequest(body)
	if refusal != nil {
		return refusal
	}
	o := &weir.Outcome{}
	rules := h.config.Rules()
	rules.Decider.Decide(r.Context(), asked, o)
	status, fields, detail := rules.told(asked, o)
	a := checkAnswer{
		Allowed:   o.Allowed,
		Status:    status,
		Binding:   o.Rule,
		Never:     hopeless(o),
		Blocked:   o.Decision().Blocked,
		DelayMS:   o.Delay.Ceil(time.Millisecond),
		DecidedAt: int64(o.Stamp.Now),
		Headers:   fields,
		Policies:  policies(o),
	}
	if l := o.Limit(); l != nil {
		a.Binding = l.Name()
	}
	if withoutLimit(o) {
		a.Reason, a.Detail = o.Cause.String(), detail
	}
	a.RetryAfterMS = unless(a.Never, wait(o, fields))
	answer(w, r, a)
	return nil
}

// explain answers /v1/explain.
func (h *Handler) explain(w http.ResponseWriter, r *http.Request, body []byte) *problem.Problem {
	asked, refusal := readRequest(body)
	if refusal != nil {
		return refusal
	}
	a := h.config.Rules().Explained(r.Context(), asked)
	if a == nil {
		return &problem.Problem{Status: http.StatusInternalServerError, Detail: "there is no explanation"}
	}
	answer(w, r, a)
	return nil
}

// withoutLimit reports a refusal that no limit made.
func withoutLimit(o *weir.Outcome) bool { return !o.Allowed && o.Cause != weir.ByLimits }

// hopeless reports that the same request would be refused for ever.
func hopeless(o *weir.Outcome) bool {
	return !o.Allowed && (o.Never || o.Cause != weir.ByLimits && o.Cause != weir.ByFault)
}

// wait is when the same request passes, in milliseconds. How long a store's fault
// lasts nobody knows: then it is what Retry-After says.
func wait(o *weir.Outcome, fields map[string]string) int64 {
	if !o.Allowed && o.Cause == weir.ByFault {
		seconds, _ := strconv.ParseInt(fields["Retry-After"], 10, 64)
		return seconds * 1000
	}
	return o.RetryAfter.Ceil(time.Millisecond)
}

// policies tells of each take.
func policies(o *weir.Outcome) []policyAnswer {
	list := make([]policyAnswer, 0, len(o.Decisions))
	for i := range o.Decisions {
		l, d := o.Takes[i].Limit, &o.Decisions[i]
		list = append(list, policyAnswer{
			Rule:         l.Rule(),
			Limit:        l.Name(),
			Shadow:       o.Takes[i].Join == weir.Advise,
			Allowed:      d.Allowed,
			Count:        l.Spec().Count,
			Capacity:     l.Capacity(),
			Remaining:    d.Remaining,
			RetryAfterMS: unless(d.Never, d.RetryAfter.Ceil(time.Millisecond)),
			DelayMS:      d.Delay.Ceil(time.Millisecond),
			Never:        d.Never,
			Blocked:      d.Blocked,
			ResetAfterMS: d.ResetAfter.Ceil(time.Millisecond),
			Mode:         d.Mode.String(),
		})
	}
	return list
}

// Explained explains a request, with what a proxy would answer. Nothing is charged:
// what the request itself would take is not yet gone from what is left. It gives
// nil where Explain does.
func (l Rules) Explained(ctx context.Context, asked *weir.Request) *ExplainAnswer {
	e := l.Explain(ctx, asked)
	if e == nil {
		return nil
	}
	a := &ExplainAnswer{Explanation: *e, Status: http.StatusOK, Headers: map[string]string{}}
	if e.Outcome != nil {
		a.Status, a.Headers, _ = l.told(asked, e.Outcome)
	}
	return a
}

// told is the status and the fields with which a proxy would answer: all but those
// that go with a body. Of that there is the detail, where no limit refused.
func (l Rules) told(asked *weir.Request, o *weir.Outcome) (status int, fields map[string]string, detail string) {
	w := recorder{header: http.Header{}}
	if o.Allowed {
		l.Header.Write(w.header, o)
	} else {
		l.Header.Refuse(&w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: asked.Path}, Header: http.Header{}}, o)
	}
	for _, name := range [...]string{"Content-Length", "Content-Type", "X-Content-Type-Options", "Vary"} {
		w.header.Del(name)
	}
	fields = make(map[string]string, len(w.header))
	for name := range w.header {
		fields[name] = w.header.Get(name)
	}
	return cmp.Or(w.status, http.StatusOK), fields, w.detail(o)
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   []byte
}

func (w *recorder) Header() http.Header    { return w.header }
func (w *recorder) WriteHeader(status int) { w.status = status }
func (w *recorder) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// detail is the sentence of a refusal that no limit made. It holds nothing that
// the caller has sent: see package header.
func (w *recorder) detail(o *weir.Outcome) string {
	var said problem.Document
	if !withoutLimit(o) || json.Unmarshal(w.body, &said) != nil {
		return ""
	}
	return said.Detail
}
