// Package daemon is `weir serve`: it joins store, engine and surfaces as the
// rules say, and keeps them so until it is told to end.
//
// # Start
//
// Everything is checked and bound before anything is served, and readiness comes
// last: a daemon that cannot listen where it should has not answered anyone.
//
// # End
//
// The first SIGTERM or SIGINT drains. Readiness goes first, so that whoever
// balances load can look elsewhere while everything is still answered (for
// DrainDelay); then the listeners close and requests in flight end, for at most
// DrainTimeout; the listener for operators is the last. A second signal ends at
// once. No goroutine outlives [Run].
package daemon
