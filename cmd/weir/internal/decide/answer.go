package decide

import (
	"encoding/json"
	"time"

	"github.com/weirhq/weir"
)

// TakeRequest asks for units of one limit for one key.
type TakeRequest struct {
	Key   string `json:"key"`            // who is counted: 1 to 4096 bytes of UTF-8
	Limit string `json:"limit"`          // as in `5/s burst 20`
	Cost  int64  `json:"cost,omitempty"` // units; 0 means 1
	Peek  bool   `json:"peek,omitempty"` // look without taking
}

// TakeAnswer is what a take was answered. Count and what follows it are of no
// limit that counts nothing: `unlimited` and `deny` have a Count of 0, and in JSON
// none of these fields but mode.
type TakeAnswer struct {
	Allowed bool   `json:"allowed"` // the units were there, and are charged unless it was a peek
	Limit   string `json:"limit"`   // take/ and its period
	Never   bool   `json:"never"`   // refused, and waiting does not help; RetryAfterMS is absent then
	Blocked bool   `json:"blocked"` // refused by the limit's block, or that has begun by it; absent for false

	Count        int64  `json:"count"`          // units in a period
	Capacity     int64  `json:"capacity"`       // the most that can pass at once
	Remaining    int64  `json:"remaining"`      // units left
	Granted      int64  `json:"granted"`        // units charged, or that a peek would get
	RetryAfterMS int64  `json:"retry_after_ms"` // until the same passes, rounded up; 0 when allowed
	DelayMS      int64  `json:"delay_ms"`       // allowed by a leaky bucket: to wait for so long before it goes on, rounded up; absent for 0
	ResetAfterMS int64  `json:"reset_after_ms"` // until nothing is charged any more, rounded up
	DecidedAt    int64  `json:"decided_at"`     // microseconds since 1970, by the store's clock
	Mode         string `json:"mode"`           // exact, overflow, …
}

// MarshalJSON leaves out what the answer does not have.
func (a TakeAnswer) MarshalJSON() ([]byte, error) {
	if a.Count == 0 {
		return json.Marshal(struct {
			Allowed bool   `json:"allowed"`
			Limit   string `json:"limit"`
			Never   bool   `json:"never,omitempty"`
			Mode    string `json:"mode"`
		}{a.Allowed, a.Limit, a.Never, a.Mode})
	}
	return json.Marshal(struct {
		Allowed      bool   `json:"allowed"`
		Limit        string `json:"limit"`
		Count        int64  `json:"count"`
		Capacity     int64  `json:"capacity"`
		Remaining    int64  `json:"remaining"`
		Granted      int64  `json:"granted"`
		RetryAfterMS *int64 `json:"retry_after_ms,omitempty"`
		DelayMS      int64  `json:"delay_ms,omitempty"`
		Never        bool   `json:"never,omitempty"`
		Blocked      bool   `json:"blocked,omitempty"`
		ResetAfterMS int64  `json:"reset_after_ms"`
		DecidedAt    int64  `json:"decided_at"`
		Mode         string `json:"mode"`
	}{
		a.Allowed, a.Limit, a.Count, a.Capacity, a.Remaining, a.Granted,
		unless(a.Never, a.RetryAfterMS), a.DelayMS, a.Never, a.Blocked, a.ResetAfterMS, a.DecidedAt, a.Mode,
	})
}

// takeAnswer tells of an outcome of one take, or of none.
func takeAnswer(l *weir.Limit, o *weir.Outcome) TakeAnswer {
	a := TakeAnswer{Allowed: o.Allowed, Limit: l.Name(), Mode: o.Mode().String()}
	if len(o.Decisions) == 0 {
		a.Never = !o.Allowed
		return a
	}
	d := &o.Decisions[0]
	a.Never, a.Blocked, a.Count, a.Capacity = d.Never, d.Blocked, l.Spec().Count, l.Capacity()
	a.Remaining, a.Granted = d.Remaining, d.Granted
	a.RetryAfterMS, a.ResetAfterMS = d.RetryAfter.Ceil(time.Millisecond), d.ResetAfter.Ceil(time.Millisecond)
	a.DelayMS = d.Delay.Ceil(time.Millisecond)
	a.DecidedAt = int64(o.Stamp.Now)
	return a
}

// unless gives a field that is left out in a case.
func unless(never bool, v int64) *int64 {
	if never {
		return nil
	}
	return &v
}
