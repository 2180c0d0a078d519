package refusals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/fault"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/policy"
)

// tellRefusal logs an outcome that is refused, by the rule that decided.
func (l *Log) tellRefusal(ctx context.Context, f *policy.Finding) {
	rule := decider(f.Outcome)
	l.write(ctx, subject{rule, refusal}, func(bool) []slog.Attr {
		a, o := applied(f, rule), f.Outcome
		line := append(about(f, a), slog.String("rule", rule), slog.String("reason", f.Reason.String()))
		line = append(line, slog.Int("status", header.Status(o)), slog.Bool("shadow", false))
		if a != nil && a.Missing != "" {
			line = append(line, slog.String("missing", a.Missing))
		}
		if o.Limit() != nil && o.Binding < len(o.Decisions) {
			return append(line, verdict(&o.Takes[o.Binding], &o.Decisions[o.Binding])...)
		}
		return append(line, slog.String("mode", o.Mode().String()))
	})
}

// tellWouldBe logs what a rule in shadow would have refused: by its limits, or
// without them.
func (l *Log) tellWouldBe(ctx context.Context, f *policy.Finding, a *policy.Applied) {
	worst, status := worstOf(a, f.Outcome), wouldBeStatus(a)
	if worst < 0 && status == 0 {
		return
	}
	l.write(ctx, subject{a.Rule.Name, wouldBe}, func(bool) []slog.Attr {
		o := f.Outcome
		if worst >= 0 {
			status = http.StatusTooManyRequests
		}
		if worst >= 0 && o.Decisions[worst].Never {
			status = http.StatusUnprocessableEntity
		}
		line := append(about(f, a), slog.String("rule", a.Rule.Name), slog.String("reason", a.Cause.String()))
		line = append(line, slog.Int("status", status), slog.Bool("shadow", true))
		if worst >= 0 {
			return append(line, verdict(&o.Takes[worst], &o.Decisions[worst])...)
		}
		if a.Missing != "" {
			line = append(line, slog.String("missing", a.Missing))
		}
		return append(line, slog.String("mode", weir.Exact.String()))
	})
}

// worstOf is the refused take of a rule with the longest wait, never before all;
// -1 where none is refused.
func worstOf(a *policy.Applied, o *weir.Outcome) int {
	worst := -1
	for i := a.Take; i < a.Take+a.Takes && i < len(o.Decisions); i++ {
		d := &o.Decisions[i]
		if !d.Allowed && (worst < 0 || d.Never || !o.Decisions[worst].Never && d.RetryAfter > o.Decisions[worst].RetryAfter) {
			worst = i
		}
	}
	return worst
}

// wouldBeStatus is the status of what a rule would refuse without its limits, 0
// where it would not.
func wouldBeStatus(a *policy.Applied) int {
	switch a.Cause {
	case weir.ByDeny:
		return http.StatusForbidden
	case weir.ByMissing:
		if strings.HasPrefix(a.Missing, "jwt:") || strings.HasPrefix(a.Missing, "basic:") {
			return http.StatusUnauthorized
		}
		return http.StatusBadRequest
	case weir.ByRequest:
		return http.StatusBadRequest
	default:
		return 0
	}
}

// tellFailure logs that the store or a rule failed, whatever was made of it.
func (l *Log) tellFailure(ctx context.Context, f *policy.Finding) {
	rule := failed(f)
	l.write(ctx, subject{rule, failure}, func(first bool) []slog.Attr {
		o := f.Outcome
		status := http.StatusOK
		if !o.Allowed {
			status = header.Status(o)
		}
		line := append(about(f, applied(f, rule)),
			slog.String("rule", rule),
			slog.String("reason", policy.ReasonFault.String()),
			slog.String("kind", fault.Of(o.Err).String()),
			slog.Bool("allowed", o.Allowed),
			slog.Int("status", status),
			slog.String("mode", o.Mode().String()))
		if state, ok := errors.AsType[*weir.StateError](o.Err); ok {
			line = append(line, slog.String("limit", state.Limit))
		}
		if p, ok := errors.AsType[*policy.PanicError](o.Err); ok {
			line = append(line, panicked(p, first)...)
		}
		return line
	})
}

// panicked is what a line says of a panic: whose code it was, and the type of the
// value, which itself may hold a caller's text. The stack is long, and the same
// again and again: the first line of a second has it.
func panicked(p *policy.PanicError, first bool) []slog.Attr {
	line := []slog.Attr{slog.String("in", p.In), slog.String("panic", fmt.Sprintf("%T", p.Value))}
	if first {
		line = append(line, slog.String("stack", string(p.Stack)))
	}
	return line
}

// failed is the rule that failed, or that decided what the store's failure means;
// "" where it is not known.
func failed(f *policy.Finding) string {
	if f.Outcome.Cause == weir.ByFault {
		return decider(f.Outcome)
	}
	for i := range f.Applied {
		if f.Applied[i].Cause == weir.ByFault {
			return f.Applied[i].Rule.Name
		}
	}
	return ""
}

// decider is the rule that decided, "" for none.
func decider(o *weir.Outcome) string {
	if l := o.Limit(); l != nil && o.Rule == "" {
		return l.Rule()
	}
	return o.Rule
}

// applied finds a rule's part in a decision, nil for none.
func applied(f *policy.Finding, rule string) *policy.Applied {
	for i := range f.Applied {
		if f.Applied[i].Rule.Name == rule {
			return &f.Applied[i]
		}
	}
	return nil
}

// about is what a line says of the request, and of the caller under the rule that
// it is about, which may be none.
func about(f *policy.Finding, a *policy.Applied) []slog.Attr {
	line := make([]slog.Attr, 0, 16)
	line = append(line, slog.String("method", method(f.Request.Method)))
	if a == nil {
		return line
	}
	if a.Key != (weir.Key{}) { // a rule that refuses without its limits has counted nobody
		line = append(line, slog.String("key_kind", a.Kinds), slog.String("key", policy.KeyHash(a.Key)))
	}
	if a.Plan != "" {
		line = append(line, slog.String("plan", a.Plan))
	}
	return line
}

// verdict is what a line says of a take.
func verdict(t *weir.Take, d *weir.Decision) []slog.Attr {
	line := []slog.Attr{
		slog.String("limit", t.Limit.Name()),
		slog.Int64("cost", t.Cost),
		slog.String("mode", d.Mode.String()),
	}
	if d.Never {
		return append(line, slog.Bool("never", true))
	}
	if d.Blocked {
		line = append(line, slog.Bool("blocked", true))
	}
	return append(line, slog.Int64("retry_after_ms", d.RetryAfter.Ceil(time.Millisecond)))
}

// method is one of HTTP's own, or other: the rest is whatever a caller writes.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return m
	}
	return "other"
}
