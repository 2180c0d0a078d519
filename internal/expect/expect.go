package expect

import "github.com/weirhq/weir"

// Limits adds limits to those that a store expects: one with bounded room then keeps
// each rule's share from the beginning, before another's flood can take it. The error
// is the store's, and nil for a store that has no Expect of its own. weir.New does the
// same.
func Limits(store weir.Store, limits ...*weir.Limit) error {
	s, ok := store.(interface {
		Expect(limits ...*weir.Limit) error
	})
	if !ok {
		return nil
	}
	return s.Expect(limits...)
}

// Only tells a store that these limits are all that it will see from now on, and how
// many keys are kept for a rule, by its name: what a rules engine does with each new
// set of rules. Where Limits adds to what is expected, this replaces it, in one step:
// no call is decided under half of the old set and half of the new. Rules and versions
// of limits that are not among them are not forgotten for that: what they hold goes on
// limiting until it is over, but no room is kept for them any more. States that a rule
// has taken over from another ([weir.NewLimitKeeping]) count for it from then on.
//
// Nothing has changed when there is an error: a [*weir.FieldError], or what the store
// says. A store that has no ExpectOnly of its own is told as Limits does, and not of
// what is reserved.
func Only(store weir.Store, reserved map[string]int, limits ...*weir.Limit) error {
	s, ok := store.(interface {
		ExpectOnly(reserved map[string]int, limits ...*weir.Limit) error
	})
	if !ok {
		return Limits(store, limits...)
	}
	return s.ExpectOnly(reserved, limits...)
}
