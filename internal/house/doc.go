// Package house holds the rules of the house as tests: who may import whom,
// where a clock may be read, how long a function may be. It has no code of its
// own.
//
// Each rule is one test. It is first held against its fixture in testdata,
// where it must find exactly what the fixture says, and then against the
// repository, where it must find nothing. A finding names the place, the rule
// and the way out.
//
// A function of more than 60 lines, or a file of more than 400, says why in a
// comment that begins with "long:". Everything else that may be granted, a
// package's imports, a file that reads the clock, a package-level variable, is
// a line in a table of this package, with its reason.
package house
