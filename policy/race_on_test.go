//go:build race

package policy_test

// raceAllocations is what the race detector may add to a decision: it makes pools
// forget.
const raceAllocations = 16
