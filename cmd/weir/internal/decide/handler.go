package decide

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/problem"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/policy"
)

// The paths.
const (
	takePath    = "/v1/take"
	checkPath   = "/v1/check"
	explainPath = "/v1/explain"
)

// Rules is one policy, as this service needs it. All fields are required.
type Rules struct {
	Decider weir.Decider                                             // decides what /v1/check is asked
	Explain func(context.Context, *weir.Request) *policy.Explanation // answers /v1/explain
	Header  *header.Writer                                           // writes the fields that a proxy would
}

// Config is what a Handler works with. All fields but Took are required.
type Config struct {
	// Rules gives what holds for the next request. It is called once for each,
	// and must be safe for concurrent use.
	Rules func() Rules

	// Store keeps the states of /v1/take.
	Store weir.Store

	// Logger is told of panics.
	Logger *slog.Logger

	// Took is told of each take of /v1/take; nil tells nobody. It keeps nothing
	// of the outcome.
	Took func(*weir.Outcome)
}

// Handler serves decisions. It comes from [New] and is safe for concurrent use.
type Handler struct {
	config Config
	keyer  weir.Keyer
	limits limits
	origin *http.CrossOriginProtection
}

// New makes a Handler. The error joins a [*weir.FieldError] for each field that is
// missing.
func New(c Config) (*Handler, error) {
	var errs []error
	need := func(ok bool, field string) {
		if !ok {
			errs = append(errs, weir.Invalid("decide "+field, "nil", "the service needs it", ""))
		}
	}
	need(c.Rules != nil, "Rules")
	need(c.Store != nil, "Store")
	need(c.Logger != nil, "Logger")
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if c.Took == nil {
		c.Took = func(*weir.Outcome) {}
	}
	return &Handler{config: c, keyer: c.Store.Keyer(), origin: http.NewCrossOriginProtection()}, nil
}

// ServeHTTP answers one request. A panic of what it asks is answered 500, and
// told to the logger by its type and where it came from: its text may be a
// caller's.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if v := recover(); v != nil {
			h.config.Logger.ErrorContext(r.Context(), "panic in a decision", "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			problem.Write(w, r, problem.Problem{Status: http.StatusInternalServerError, Detail: "a defect of weir: its log has more"})
		}
	}()
	serve := h.find(r.URL.Path)
	switch {
	case serve == nil:
		problem.NotFound(w, r)
	case r.Method != http.MethodPost:
		problem.NotAllowed(w, r, http.MethodPost)
	case h.origin.Check(r) != nil: // a page that somebody's browser shows may not spend quotas
		problem.Write(w, r, problem.Problem{Status: http.StatusForbidden, Detail: "pages of another origin are not served"})
	default:
		body, refusal := read(w, r)
		if refusal == nil {
			refusal = serve(w, r, body)
		}
		if refusal != nil {
			problem.Write(w, r, *refusal)
		}
	}
}

// find gives what answers a path, nil for none. What it answers itself it writes
// at last, in one piece; otherwise it gives a problem.
func (h *Handler) find(path string) func(http.ResponseWriter, *http.Request, []byte) *problem.Problem {
	switch path {
	case takePath:
		return h.take
	case checkPath:
		return h.check
	case explainPath:
		return h.explain
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request, v any) {
	problem.JSON(w, r, http.StatusOK, "application/json", v)
}
