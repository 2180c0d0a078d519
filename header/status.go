package header

import (
	"errors"
	"net/http"

	"github.com/weirhq/weir"
)

// Status is the HTTP status of a refusal, and 0 for an outcome that is allowed:
//
//	429  refused by a limit
//	422  the cost is above a limit's capacity: waiting does not help
//	403  denied by a rule
//	503  the store failed, and the rule chose to refuse
//	401  the request lacks credentials (see Challenger)
//	400  the request lacks something else that its key is made of, or cannot be
//	     judged as it stands
//
// A rule that has words of its own for its callers (weir.Outcome.Refusal) may say
// any other from 400 to 599.
func Status(o *weir.Outcome) int {
	status := causeStatus(o)
	if r := o.Refusal; status != 0 && r != nil && r.Status >= 400 && r.Status <= 599 {
		return r.Status
	}
	return status
}

// causeStatus is the status of what refused, whatever callers are told.
func causeStatus(o *weir.Outcome) int {
	switch {
	case o.Allowed:
		return 0
	case o.Cause == weir.ByLimits && o.Never:
		return http.StatusUnprocessableEntity
	case o.Cause == weir.ByLimits:
		return http.StatusTooManyRequests
	case o.Cause == weir.ByFault:
		return http.StatusServiceUnavailable
	case o.Cause == weir.ByMissing && challenge(o.Err) != "":
		return http.StatusUnauthorized
	case o.Cause == weir.ByMissing || o.Cause == weir.ByRequest:
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// Challenger is an error that asks for credentials. As the Err of an outcome
// with the cause [weir.ByMissing], or wrapped by it, it makes the answer 401
// instead of 400. [Unauthorized] makes one; any error with the method will do.
//
// Challenge is what WWW-Authenticate says (RFC 9110, section 11.6.1), such as
// `Basic realm="api"`; "" stands for Bearer.
type Challenger interface {
	error
	Challenge() string
}

// Unauthorized makes err, which may be nil, a [Challenger]. The new error
// unwraps to err.
func Unauthorized(challenge string, err error) error {
	return &unauthorizedError{challenge, err}
}

// bearer is what is asked for where nothing else is named (RFC 6750).
const bearer = "Bearer"

type unauthorizedError struct {
	challenge string
	err       error
}

func (e *unauthorizedError) Error() string {
	if e.err == nil {
		return "weir: credentials are missing"
	}
	return "weir: credentials are missing: " + e.err.Error()
}

func (e *unauthorizedError) Unwrap() error     { return e.err }
func (e *unauthorizedError) Challenge() string { return e.challenge }

// challenge is what an error asks for, "" where it asks for nothing.
func challenge(err error) string {
	var c Challenger
	switch {
	case err == nil || !errors.As(err, &c):
		return ""
	case c.Challenge() == "":
		return bearer
	}
	return c.Challenge()
}
