// Package lineup holds the limiters that are compared, each asked as its own
// documentation says, in the fastest way that gives its own decision.
//
// Every contender is one function that makes a [Limiter] from a [Quota]. What it
// cannot express (a burst beside a rate, a refusal, a key) stands in its
// [Contender], so that a table can say it. A new contender is one function and
// one entry in [All].
package lineup
