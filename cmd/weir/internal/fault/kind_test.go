package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/fault"
	"github.com/weirhq/weir/policy"
)

func TestKinds(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		if got := fault.Of(err).String(); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	f(nil, "none")
	f(weir.ErrStale, "stale") // also a weir.ErrNotApplied
	f(fmt.Errorf("again: %w", &policy.PanicError{In: "rule api", Value: weir.ErrClosed}), "panic")
	f(weir.Invalid("cost", 0, "too little", ""), "invalid")
	f(fmt.Errorf("slots: %w", weir.ErrUnsupported), "unsupported")
	f(&weir.StateError{Limit: "api", Err: errors.New("torn")}, "state")
	f(weir.ErrClosed, "closed")
	f(fmt.Errorf("dial: %w", weir.ErrNotApplied), "not_applied")
	f(fmt.Errorf("read: %w", weir.ErrUnknown), "unknown")
	f(fmt.Errorf("renew: %w", weir.ErrLost), "lost")
	f(errors.New("boom"), "other")
	if got := fault.Kind(200).String(); got != "other" {
		t.Errorf("a kind that is none: %s", got)
	}
}
