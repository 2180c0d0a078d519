// Package weir limits how fast, how often and how many at once: exact, all or nothing,
// bounded.
//
// A [Limit] is a name and a text such as `5/s burst 5` or `1000/day
// fixed-window`. A [Store] keeps what has been used: memstore in this process,
// others in a shared server. A [Limiter] joins the two:
//
//	store, err := memstore.New(memstore.Config{})
//	...
//	limiter, err := weir.New(store, weir.MustLimit("jobs", "5/s burst 5"))
//	...
//	ok, err := limiter.Allow(ctx, weir.Text("user", id))
//
// One decision has many verbs, which are views of one call of [Store].Take. [Outcome]
// tells what it found: which limit decided, what is left, exactly when to come back, at
// what instant it was decided and in which [Mode].
//
//	Allow       one unit, or not
//	Take        so many units, all or none; Refund gives them back
//	TakeAtMost  as many as fit
//	Peek        what Take would say
//	TakeAll     under limits and keys of the caller's own
//	Wait        Take, as soon as there is room
//	Reserve     an estimate, which Settle corrects when the work is done
//	Acquire     a slot of a concurrency limit, until it is released
//
// Package httplimit puts the same in front of an [net/http.Handler]; a rules
// engine stands behind the same [Decider]. Who writes a store of their own runs
// storetest on it.
//
// # Exactness
//
// Time is whole microseconds of the clock of the store that decides. All
// arithmetic is in integers. A refusal's RetryAfter is exact: wait that long
// with no other traffic and the same cost passes; one microsecond less and it
// does not. Of slots it is the end of the earliest lease: holders that are done make
// it shorter, and those that renew theirs longer.
//
// # Errors
//
// Impossible limits are refused when they are built, by [*FieldError], which
// matches [ErrInvalid]. A decision that could not be made is [ErrNotApplied]
// (nothing was charged), [ErrUnknown] (charged at most once) or a
// [*StateError]. A wait that would last too long is a [*WaitError], a slot that was
// lost meanwhile [ErrLost]. Nothing in this package panics but the Must functions, and
// what is called on a nil pointer.
//
// # For stores and engines
//
// Who limits calls needs none of these: [Store] and what it is asked and answers ([Take],
// [Join], [How], [SlotID], [Edges], [Decision], [Stamp], [Return], [Receipt]), its keys
// ([Keyer]), what checks calls of it ([CheckTakes], [CheckReturns]), and what makes an
// Outcome of them ([Decide], [GiveBack], [Decider], [Observer]).
package weir
