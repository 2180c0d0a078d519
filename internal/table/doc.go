// Package table is a hash table for many small states: without pointers, so that
// the garbage collector does not look into it, filled to the same four fifths at
// every size, and without a step that takes long. It has no lock: whoever shares it
// locks it.
//
// A slot has 24 bytes, of which the first word is the fingerprint that finds it. Each
// fingerprint has two places to be, sets of eight slots. Where both are full, a slot
// that has its other place free makes room. The table grows by one set at a time:
// the set at the split point shares its slots with a new one.
//
// Beside it stand lists for states that are longer ([Logs], [Leases]), in the blocks
// of a [Slab].
//
// Sources: Azar, Broder, Karlin, Upfal, Balanced Allocations (1994), for two places;
// Litwin, Linear Hashing (VLDB 1980), for growth; Pagh, Rodler, Cuckoo Hashing
// (2001), for making room.
package table
