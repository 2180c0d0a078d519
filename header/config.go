package header

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// maxJitter bounds Config.Jitter. What is longer tells a caller nothing about
// when to come back, and is most likely a mistaken unit.
const maxJitter = time.Hour

// Config says what is written. The zero Config writes RateLimit and
// RateLimit-Policy, and X-RateLimit with seconds from now.
type Config struct {
	// NoRateLimit leaves RateLimit and RateLimit-Policy out.
	NoRateLimit bool

	// NoLegacy leaves X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset out.
	NoLegacy bool

	// EpochReset gives X-RateLimit-Reset as seconds since 1970, rounded up, by
	// the clock of the store that decided, instead of seconds from now. Callers
	// then need a clock that agrees.
	EpochReset bool

	// Jitter is the most that is added at random to Retry-After before it is
	// rounded up, so that callers who were refused together do not return
	// together: whole microseconds, at most an hour. Less than a second spreads
	// them only as far as rounding lets through. 0, the default, adds nothing,
	// except where a store's fault is the reason.
	Jitter time.Duration

	// Debug writes X-Weir-Decided, the microseconds since 1970 at which the
	// store decided, on every answer that asked one.
	Debug bool

	// NoExpose leaves Access-Control-Expose-Headers out. Without that field,
	// scripts in browsers cannot read the others across origins.
	NoExpose bool

	// Problem, where it is set, may change what a refusal says before it is
	// written: its detail, its status, or all of it. It is called on the
	// request's goroutine, possibly on many at once, and keeps neither o nor p.
	Problem func(r *http.Request, o *weir.Outcome, p *Problem)
}

// New checks c and returns its Writer. The error joins a [*weir.FieldError] for
// each thing that is wrong.
func New(c Config) (*Writer, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Writer{config: c, exposed: c.exposed(), random: rand.Int64N}, nil
}

func (c Config) validate() error {
	var errs []error
	add := func(problem, remedy string) {
		errs = append(errs, weir.Invalid("header Jitter", c.Jitter.String(), problem, remedy))
	}
	if c.Jitter < 0 {
		add("it is added to a wait and cannot be negative", "write 0 for none")
	}
	if c.Jitter > maxJitter {
		add("it says nothing about when to come back", "write at most "+maxJitter.String())
	}
	if c.Jitter%time.Microsecond != 0 {
		add("time is whole microseconds", "")
	}
	return errors.Join(errs...)
}

// exposed lists the fields that scripts may read.
func (c Config) exposed() string {
	if c.NoExpose {
		return ""
	}
	names := []string{"Retry-After"}
	if !c.NoRateLimit {
		names = append(names, "RateLimit", "RateLimit-Policy")
	}
	if !c.NoLegacy {
		names = append(names, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	}
	if c.Debug {
		names = append(names, "X-Weir-Decided")
	}
	return strings.Join(names, ", ")
}
