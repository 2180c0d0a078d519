// Package storetest checks that a weir.Store decides as docs/stores.md says.
//
// Who writes a store runs the whole suite on it:
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(t testing.TB, now func() weir.Micros) weir.Store {
//			return mystore.New(mystore.Config{Now: now})
//		})
//	}
//
// A store whose clock cannot be replaced runs [Suite] with Live set: what needs
// a clock turned by hand is left out. WEIR_LONG=1 in the environment runs twenty
// times as many steps, -short a tenth.
//
// The parts can be used by themselves:
//
//   - [Oracle] is the contract once more, in rational numbers, slow and plain;
//   - [Tape] is a story of takes, returns and resets, random or written by hand,
//     that is played to a store and compared with the oracle, field by field;
//   - [Recorder] wraps a store and writes down a [History] of what concurrent
//     callers asked and were told; [CheckWindows], [CheckSlots] and
//     [CheckLinearizable] judge it;
//   - [Clock] is turned by hand.
package storetest
