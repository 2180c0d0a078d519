package weir

import (
	"errors"
	"time"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
)

// This file is about limits whose states are lists: sliding logs and concurrency.

// defaultLease is how long a slot is held that is not renewed, where the limit does
// not say: long enough for a holder to miss two renewals, and so short that the slots
// of one that died are soon free.
const defaultLease = time.Minute

func (l *Limit) compileLog() error {
	log, err := algorithm.NewSlidingLog(l.spec.Count, l.period(), l.spec.Overdraft)
	if err != nil {
		return err
	}
	l.algorithm = log
	return nil
}

func (l *Limit) compileSlots() error {
	lease := l.lease()
	slots, err := algorithm.NewConcurrency(l.spec.Count, Micros(lease/time.Microsecond))
	if err != nil {
		if refusal, ok := errors.AsType[*FieldError](err); ok && refusal.Field == "lease" {
			refusal.Value = duration.Format(lease)
		}
		return err
	}
	l.algorithm = slots
	return nil
}

// What a key takes in a store in this process, in bytes.
const (
	entryBytes  = 32 // in the table, which is not filled to the last
	holderBytes = 32 // the holder of a slot
	blockBytes  = 64 // a block of a log, which has room for
	blockItems  = 7  // charges
)

// Memory is how many bytes one key takes in memory, at most, in a store in this
// process (package memstore): 32, and as many as its list may need of a sliding log
// (64 for each seven units of the overdraft, which is the count by default) or of a
// concurrency limit (32 for each holder), and 32 for the penalty of who was refused
// under a limit with a block. A store counts a key as so many keys as that is times
// 32. It is 0 for unlimited and deny, which have no states.
func (l *Limit) Memory() int {
	bytes := l.memory()
	if l.penalty != nil {
		bytes += entryBytes
	}
	return bytes
}

// memory is that of the limit's own state.
func (l *Limit) memory() int {
	switch a := l.algorithm.(type) {
	case nil:
		return 0
	case *algorithm.SlidingLog:
		// What is left of the first block, and of the last, may be empty.
		return entryBytes + (a.Entries()+2*(blockItems-1))/blockItems*blockBytes
	case *algorithm.Concurrency:
		return entryBytes + a.Entries()*holderBytes
	}
	return entryBytes
}
