package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// ErrCut means that a second signal ended the daemon while it was draining.
var ErrCut = errors.New("ended by a second signal while draining")

// Config is what a daemon is started with. Source, Log, Now and Every are
// required.
type Config struct {
	// Source is where the rules come from.
	Source policy.Source

	// Watch loads rules and certificates again when their files change; without
	// it only SIGHUP does.
	Watch bool

	// SwitchFile names the file that may hold shadow or off; "" is none.
	SwitchFile string

	// DrainDelay is how long everything is still answered after readiness went:
	// 0 or more.
	DrainDelay time.Duration

	// DrainTimeout is how long requests in flight may take to end, more than 0.
	// What is left is cut off.
	DrainTimeout time.Duration

	// Version and Revision are the build's, for metrics and the log.
	Version, Revision string

	// Log is told what happens. It never hears of a caller.
	Log *slog.Logger

	// Welcome is told, for people, what to try; nil tells nobody.
	Welcome io.Writer

	// Signals are acted on: SIGHUP loads again, SIGINT and SIGTERM end. nil has
	// none.
	Signals <-chan os.Signal

	// Headroom lets garbage grow by some 32 MiB before it is collected. A
	// daemon with few keys would otherwise collect its few megabytes many
	// times a second, which costs more than a decision.
	Headroom bool

	// Now is the wall clock.
	Now func() time.Time

	// Elapsed is a monotonic clock that times decisions; nil is Now.
	Elapsed func() time.Duration

	// Every ticks until it is stopped.
	Every func(time.Duration) (ticks <-chan time.Time, stop func())
}

// validate returns every error.
func (c *Config) validate() error {
	var errs []error
	need := func(ok bool, field string, value any, problem, remedy string) {
		if !ok {
			errs = append(errs, weir.Invalid("daemon "+field, value, problem, remedy))
		}
	}
	need(c.Source.Name != "", "Source.Name", "", "there is nothing to serve", "name a rules file")
	need(c.Log != nil, "Log", "nil", "somebody has to be told", "use slog.Default()")
	need(c.Now != nil, "Now", "nil", "decisions are timed by it", "use time.Now")
	need(c.Every != nil, "Every", "nil", "files are looked at by it", "make one with time.NewTicker")
	need(c.DrainDelay >= 0, "DrainDelay", c.DrainDelay, "time does not run back", "use 0 for none")
	need(c.DrainTimeout > 0, "DrainTimeout", c.DrainTimeout, "requests in flight need some time", "use 30s")
	return errors.Join(errs...)
}

// headroom is a block that the heap holds and nobody touches, so that it takes no
// memory but counts where the runtime decides when to collect: at twice of what
// is held. The more keys there are, the less it matters.
const headroom = 32 << 20

// look is how often files are looked at: a reader of a few small files each
// second is nothing, and a switch has to work at once.
const look = time.Second
