//go:build race

package httplimit_test

// raceAllocations is what the race detector may add to a path that allocates
// nothing.
const raceAllocations = 1
