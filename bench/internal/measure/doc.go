// Package measure takes the measures: how long a decision takes, how much room a
// key takes, how long the slowest decisions take while a table grows, sweeps and is
// flooded, and how much is admitted when many ask for one key at once.
//
// A [Request] says what is to be measured and a [Sample] what came of it. The
// program runs each request in a process of its own, so that no contender pays
// for another's heap; see [Request.Run].
package measure
