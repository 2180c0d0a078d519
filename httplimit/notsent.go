package httplimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/duration"
)

// NotSentError says that a Transport has not sent a request, and when it would.
// [http.Client] wraps it in a *url.Error: find it with [errors.As].
type NotSentError struct {
	// RetryAt is when trying again makes sense, on the clock of this process:
	// before it the request would not be sent either. With others who wait for the
	// same it may not be sent then. It is zero where no time is known: the store
	// failed, or a limit of deny.
	RetryAt time.Time

	// Limit is the limit of one's own that has no room; nil where the far side
	// asked to wait, and where RetryAt is zero.
	Limit *weir.Limit

	wait time.Duration // from when it was found until RetryAt
	err  error         // why it was not waited for
}

// Error says what the request would have waited for, and why it did not.
func (e *NotSentError) Error() string {
	const begin = "httplimit: the request was not sent: "
	switch {
	case e.RetryAt.IsZero():
		return begin + e.err.Error()
	case e.Limit != nil:
		return begin + fmt.Sprintf("limit %s (%s) has room in %s; %v", e.Limit.Name(), e.Limit, spoken(e.wait), e.err)
	case e.wait == 0:
		return begin + fmt.Sprintf("others went before it; %v", e.err)
	}
	return begin + fmt.Sprintf("the far side wants no more for %s; %v", spoken(e.wait), e.err)
}

// Unwrap gives what the store said, and [context.DeadlineExceeded] where the
// context's deadline is nearer than RetryAt.
func (e *NotSentError) Unwrap() error { return e.err }

// spoken rounds a span up, so that whoever waits for what he reads waits long
// enough.
func spoken(d time.Duration) string {
	return duration.Format((d + time.Millisecond - 1).Truncate(time.Millisecond))
}

// Why a request is not kept waiting.
var (
	errFailFast = errors.New("FailFast does not wait")
	errMaxWait  = errors.New("that is longer than MaxWait")
	errDeadline = fmt.Errorf("that is behind its deadline: %w", context.DeadlineExceeded)
	errDenied   = errors.New("a limit of deny refuses it")
)
