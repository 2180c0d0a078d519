package storetest_test

import (
	"fmt"

	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

// A tape that once showed a difference is kept as text and played again.
func ExampleParseTape() {
	tape, err := storetest.ParseTape(`
		limit 0 api 5/s burst 5
		limit 1 api 1/s burst 5
		1 @1796022366123456 take 0#0 5
		2 @1796022366223456 take 1#0 1
		3 @1796022366323456 return 1#0 2 of 1.0
		4 @1796022366323456 take 1#0 2
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := storetest.NewClock(1)
	store, err := memstore.New(memstore.Config{Now: clock.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tape.Play(store, clock))
	// Output: <nil>
}
