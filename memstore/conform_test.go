package memstore_test

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB, now func() weir.Micros) weir.Store {
		s, err := memstore.New(memstore.Config{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// On the machine's own clock, with what needs no other.
func TestConformanceOnTheRealClock(t *testing.T) {
	storetest.Suite{Live: true, Open: func(t testing.TB, _ func() weir.Micros) weir.Store {
		s, err := memstore.New(memstore.Config{MaxKeys: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}.Run(t)
}
