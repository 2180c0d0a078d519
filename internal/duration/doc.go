// Package duration reads and prints spans of time as limits and rules files have them:
// Go's form with a `d` for 24 hours before it (30d, 1d12h, 250ms), whole microseconds,
// from 1 µs to less than 142 years. There are no spaces in it, and no 0: what is off is
// said by a word.
package duration
