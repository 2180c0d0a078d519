// Package expect tells stores which limits they will see, where they want to know: one
// whose room is bounded can then keep room for each rule before the first flood.
package expect
