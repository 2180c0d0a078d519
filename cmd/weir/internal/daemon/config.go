package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

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

	// Now is the wall clock.
	Now func() time.Time

	// Every ticks until it is stopped.
	Every func(time.Duration) (ticks <-chan time.Time, stop func())
}

// look is how often files are looked at: a reader of a few small files each
// second is nothing, and a switch has to work at once.
const look = time.Second
