package storetest

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

func TestPlainStore(t *testing.T) {
	Run(t, func(_ testing.TB, now func() weir.Micros) weir.Store { return newPlain(now, none) })
}

// A store that reads its own clock.
func TestLiveStore(t *testing.T) {
	Suite{Live: true, Open: func(t testing.TB, _ func() weir.Micros) weir.Store {
		s, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}.run(t, sizesOf(false, true))
}

// A store that passes on a clock that is stepped back.
func TestStoreWhoseClockRunsBack(t *testing.T) {
	Suite{ClockRunsBack: true, Open: func(_ testing.TB, now func() weir.Micros) weir.Store {
		return newPlain(now, clockRuns)
	}}.run(t, sizesOf(false, true))
}
