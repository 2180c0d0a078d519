// Package memstore is a [weir.Store] in this process: bounded, exact, and lost
// with the process.
//
// It never holds more than MaxKeys keys. Only entries that say no more than
// their absence would are evicted, so that a flood of new keys frees nobody who
// is limited, and half the room is reserved in equal shares, so that one rule's
// keys cannot push another's out. When there is no room for a new key, it shares
// an overflow cell of its limit with other new keys: it is limited more, never
// less. A key that gets an entry of its own later takes its cell's state along.
//
// One call locks the shards it needs in ascending order, each once, judges everything
// by one reading of the clock, and only then changes anything. The reading lies between
// the call and its answer, and is never below one by which the same state was judged.
package memstore
