// Package keyset makes the keys that limiters are asked for: 15-byte addresses,
// laid out in the order of the asking in one buffer without pointers, so that a
// key costs the reader next to nothing and the garbage collector nothing at all.
package keyset
