package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/storetest"
)

// A judge knows what the API must answer: the oracle for the decisions, and the
// fields written once more from what their documentation says.
type judge struct {
	plan
	oracle *storetest.Oracle
	list   []*weir.Limit
}

func newJudge(p plan) *judge {
	j := &judge{plan: p, oracle: storetest.NewOracle()}
	for _, name := range p.order {
		j.list = append(j.list, weir.MustLimit(name, p.limits[name]))
	}
	return j
}

// A verdict is what the API must answer, and the limits that refuse.
type verdict struct {
	answer
	violated []string
}

// answer is what the request must be answered, decided at an instant.
func (j *judge) answer(r request, at weir.Micros) (v verdict) {
	caller := netip.PrefixFrom(r.caller, j.prefix).Masked()
	key, _ := weir.Keyer{}.Key(weir.Net(caller))
	var takes []weir.Take
	for _, l := range j.list {
		takes = append(takes, weir.Take{Limit: l, Key: key, Cost: 1})
	}
	allowed, out, err := j.oracle.Take(at, takes)
	if err != nil {
		v.Body = err.Error()
		return v
	}
	var states []string
	for i, d := range out {
		states = append(states, fmt.Sprintf("%q;r=%d;t=%d", j.list[i].Name(), d.Remaining, j.window(at, takes[i], d)))
		if !d.Allowed {
			v.violated = append(v.violated, j.list[i].Name())
		}
	}
	v.Policy, v.RateLimit = j.policy, strings.Join(states, ", ")
	i := binding(allowed, j.list, out)
	v.Limit = strconv.FormatInt(j.list[i].Capacity(), 10)
	v.Remaining = strconv.FormatInt(out[i].Remaining, 10)
	v.Reset = strconv.FormatInt(seconds(out[i].ResetAfter), 10)
	if v.Status, v.ContentType = http.StatusOK, "text/plain; charset=utf-8"; !allowed {
		v.refuse(r, j.list[i], max(1, seconds(out[i].RetryAfter)))
	}
	return v
}

// refuse fills in what only a refusal has.
func (v *verdict) refuse(r request, by *weir.Limit, retry int64) {
	v.Status, v.CacheControl, v.ContentType = http.StatusTooManyRequests, "no-store", "application/problem+json"
	v.RetryAfter = strconv.FormatInt(retry, 10)
	if r.method == http.MethodHead {
		return
	}
	v.Body = fmt.Sprintf(`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,`+
		`"detail":"%s allows %s; retry in %d s","violated-policies":["%s"]}`+"\n",
		by.Name(), by, retry, strings.Join(v.violated, `","`))
}

// window is the t of a limit: the seconds within which no more can be used than
// is left.
func (j *judge) window(at weir.Micros, t weir.Take, d weir.Decision) int64 {
	s := t.Limit.Spec()
	period := weir.Micros(s.Period / time.Microsecond)
	switch {
	case !d.Allowed:
		return max(1, seconds(d.RetryAfter))
	case s.Algorithm == weir.TokenBucket && d.Remaining > 0:
		return max(1, seconds((weir.Micros(d.Remaining)*period+weir.Micros(s.Count)-1)/weir.Micros(s.Count)))
	case s.Algorithm == weir.TokenBucket: // the wait for one more
		t.How = weir.Peek
		_, next, err := j.oracle.Take(at, []weir.Take{t})
		if err != nil {
			return -1
		}
		return max(1, seconds(next[0].RetryAfter))
	case d.ResetAfter == 0:
		return seconds(period)
	}
	return seconds(d.ResetAfter)
}

// binding is the limit that decided: of a refusal the refused one with the
// longest wait, else the one with the least share left. The first wins a tie.
func binding(allowed bool, limits []*weir.Limit, out []weir.Decision) int {
	best := -1
	for i, d := range out {
		switch {
		case d.Allowed != allowed:
		case best < 0,
			!allowed && d.RetryAfter > out[best].RetryAfter,
			allowed && d.Remaining*limits[best].Capacity() < out[best].Remaining*limits[i].Capacity():
			best = i
		}
	}
	return best
}

func seconds(m weir.Micros) int64 { return int64((m + 999_999) / 1_000_000) }

// join gives all lines of a field, told apart.
func join(h http.Header, name string) string { return strings.Join(h.Values(name), " | ") }
