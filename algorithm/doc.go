// Package algorithm holds the arithmetic of limits as pure step functions:
// (state, moment, cost) → (state, verdict). It knows no clock, no lock, no
// I/O and no floating point; whoever calls it says what time it is and keeps
// the state.
//
// Each algorithm is one type in one file: the numbers of a limit, compiled
// once and immutable, whose methods judge and change one [State]. All methods
// are safe for concurrent use, allocate nothing and never panic on a state
// that the same algorithm wrote.
//
// # Units and ranges
//
// Time is whole microseconds ([Micros]), 1 ≤ now < [MaxMicros] (the year
// 2112). Costs and counts are whole units. Every product and sum of the
// everyday path stays below 2^53, so that a store whose only number is an
// IEEE double (a Redis script) computes the same bits; the constructors refuse
// a limit for which that cannot be kept.
//
// # The order of a step
//
// A store that takes from a limit calls, under its lock:
//
//	s = a.Touch(s, m)          // a state written under other numbers is adopted
//	v := a.Judge(s, m, cost)   // pure: would it pass, and if not, when
//	s, r = a.Charge(s, m, cost) // only after every limit of the call has allowed
//
// An algorithm that needs more than four words ([Lister]) reads a list that the moment
// brings, and the store changes it.
//
// A peek is Judge alone: it never touches, so that it leaves no trace. [Step]
// is the three in one, for a single limit.
package algorithm
