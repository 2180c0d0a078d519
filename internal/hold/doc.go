// Package hold keeps requests waiting until it is their turn under a leaky bucket:
// a bounded number of them, and nobody who has left.
package hold
