package refusals

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// defaultPerSecond is enough to see who is refused and why, and no more than a
// terminal scrolls by.
const defaultPerSecond = 10

// mostRules bounds what is remembered of rules: far above what a file holds, for
// names that come and go with reloads.
const mostRules = 4096

// Config is what a Log works with.
type Config struct {
	// Logger is where lines go: refusals as information, failures as warnings.
	// It is required.
	Logger *slog.Logger

	// Now is the clock that seconds are told by. It is required.
	Now func() time.Time

	// PerSecond is how many lines a rule gets in a second, for refusals, for what
	// it would refuse and for failures each; 0 means 10.
	PerSecond int
}

// Log logs decisions. It comes from [New] and is safe for concurrent use.
type Log struct {
	logger    *slog.Logger
	now       func() time.Time
	perSecond int

	mu     sync.Mutex
	quotas map[subject]*quota
}

// A subject has lines of its own: a rule's refusals are no reason not to hear of
// its failures.
type subject struct {
	rule string // "" for what is no rule's doing
	what kind
}

// kind is what a line tells of.
type kind uint8

const (
	refusal kind = iota // the request did not pass
	wouldBe             // nor would it, but for a rule's shadow
	failure             // the store or a rule could not decide
)

// level is how much a kind matters.
func (k kind) level() slog.Level {
	if k == failure {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// message says what has happened. None contains another, so that a log can be
// searched for it.
func (k kind) message() string {
	return [...]string{"refused", "would refuse", "could not decide"}[k]
}

// leftOut says that lines of a kind are missing.
func (k kind) leftOut() string {
	return [...]string{"refusals left out", "would-be refusals left out", "failures left out"}[k]
}

// A quota is what a subject has had in one second.
type quota struct {
	second  int64
	lines   int
	leftOut int
}

// New makes a Log. The error is a [*weir.FieldError].
func New(c Config) (*Log, error) {
	switch {
	case c.Logger == nil:
		return nil, weir.Invalid("refusals Logger", "nil", "there is nowhere to log to", "use slog.Default()")
	case c.Now == nil:
		return nil, weir.Invalid("refusals Now", "nil", "lines are counted by the second", "use time.Now")
	case c.PerSecond < 0:
		return nil, weir.Invalid("refusals PerSecond", c.PerSecond, "less than none cannot be logged", "leave it out for 10")
	case c.PerSecond == 0:
		c.PerSecond = defaultPerSecond
	}
	return &Log{logger: c.Logger, now: c.Now, perSecond: c.PerSecond, quotas: map[subject]*quota{}}, nil
}

// Observe logs a decision, if it is one to be told of: it is what
// policy.EngineConfig.Observe wants. A decision that lets a request pass, with
// nothing that would have refused it and no failure, costs next to nothing.
func (l *Log) Observe(ctx context.Context, f *policy.Finding) {
	o := f.Outcome
	if o.Err != nil && o.Cause != weir.ByMissing && o.Cause != weir.ByRequest {
		l.tellFailure(ctx, f)
	}
	if !o.Allowed && o.Cause != weir.ByFault {
		l.tellRefusal(ctx, f)
	}
	for i := range f.Applied {
		if f.Applied[i].Shadow {
			l.tellWouldBe(ctx, f, &f.Applied[i])
		}
	}
}

// Flush tells what was left out until now, as the next line of each rule would. It
// is for those who tick, and for the end.
func (l *Log) Flush(ctx context.Context) {
	l.mu.Lock()
	left := map[subject]int{}
	for s, q := range l.quotas {
		if q.leftOut > 0 {
			left[s], q.leftOut = q.leftOut, 0
		}
	}
	l.mu.Unlock()
	for s, n := range left {
		l.summary(ctx, s, n)
	}
}

// write logs a line, if its subject has one left in this second, and before it
// what was left out in the last. The line is made only then, and is told whether
// it is the first of the second.
func (l *Log) write(ctx context.Context, s subject, line func(first bool) []slog.Attr) {
	if !l.logger.Enabled(ctx, s.what.level()) {
		return
	}
	nth, leftOut := l.admit(s)
	if leftOut > 0 {
		l.summary(ctx, s, leftOut)
	}
	if nth > 0 {
		l.logger.LogAttrs(ctx, s.what.level(), s.what.message(), line(nth == 1)...)
	}
}

// admit takes one line of a subject's, and says which of the second it is, 0 where
// it has none left, and what is to be told of the seconds before this one.
func (l *Log) admit(s subject) (nth, leftOut int) {
	second := l.now().Unix()
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.quotas[s]
	if q == nil {
		l.prune(second)
		q = &quota{second: second}
		l.quotas[s] = q
	}
	if q.second != second {
		leftOut = q.leftOut
		*q = quota{second: second}
	}
	if q.lines >= l.perSecond {
		q.leftOut++
		return 0, leftOut
	}
	q.lines++
	return q.lines, leftOut
}

// prune makes room where too many rules are remembered: those of earlier seconds
// go, and with them what they had left out.
func (l *Log) prune(second int64) {
	if len(l.quotas) < mostRules {
		return
	}
	for s, q := range l.quotas {
		if q.second != second {
			delete(l.quotas, s)
		}
	}
}

func (l *Log) summary(ctx context.Context, s subject, n int) {
	l.logger.LogAttrs(ctx, s.what.level(), s.what.leftOut(), slog.String("rule", s.rule), slog.Int("left_out", n))
}
