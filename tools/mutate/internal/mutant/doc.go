// Package mutant makes the mutants of a package: copies of its source that
// differ from it in one place each, as a slip of the hand would make them.
//
// A comparison is turned round or moved by one, an operator replaced, a number
// changed by one, a boolean inverted, a statement left out, a result replaced
// by the zero of its type, the arguments of a call exchanged.
//
// What can be seen from the source alone to change nothing is not made: a
// return at the end of a function left out, a multiplication by 1 that becomes
// a division, arguments exchanged of a function that treats them alike, a
// capacity given to make. Lengths of arrays stay as they are too: they are
// types rather than arithmetic.
package mutant
