// Package refusals logs what was refused, what would have been, and what failed:
// a few lines a second for each rule, and how many more there were.
//
// Nothing that a caller wrote reaches the log. Rules, limits, plans and the kinds
// of keys are words of the configuration; a key is shown by a part of its hash; a
// method that is none of HTTP's own is `other`; of an error its kind is told and
// not its text. Paths, queries, header values and addresses are not logged at all.
package refusals
