package weir_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestMicrosAsDuration(t *testing.T) {
	f := func(m weir.Micros, want time.Duration) {
		t.Helper()
		if got := m.Duration(); got != want {
			t.Errorf("%d: %v, want %v", m, got, want)
		}
	}
	f(0, 0)
	f(199_961, 199_961*time.Microsecond)
	f(-3, -3*time.Microsecond)
	f(math.MaxInt64, 9223372036854775*time.Microsecond)
	f(math.MinInt64, -9223372036854775*time.Microsecond)
}

func TestCauseString(t *testing.T) {
	f := func(c weir.Cause, want string) {
		t.Helper()
		if c.String() != want {
			t.Errorf("%s, want %s", c, want)
		}
	}
	f(weir.ByLimits, "limits")
	f(weir.ByDeny, "deny")
	f(weir.ByFault, "fault")
	f(weir.ByMissing, "missing")
	f(weir.ByRequest, "request")
	f(weir.ByNothing, "nothing")
	f(99, "unknown")
}

func TestMustLimitPanicsWithNameAndText(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		if err == nil || !strings.Contains(err.Error(), `MustLimit("api", "5/m")`) || !strings.Contains(err.Error(), "minutes or months?") {
			t.Errorf("panicked with %v", err)
		}
	}()
	weir.MustLimit("api", "5/m")
}
