//go:build !race

package proxy_test

// raceAllocations is what the race detector may add to a request: it makes pools
// forget. It is off.
const raceAllocations = 0
