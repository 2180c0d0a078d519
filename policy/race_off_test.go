//go:build !race

package policy_test

const raceAllocations = 0
