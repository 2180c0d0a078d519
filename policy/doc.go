// Package policy turns a rules file into decisions.
//
// A [Config] says which requests a limit applies to, who is counted, and how
// much may pass; a rules file says the same in YAML, and [Load] reads one.
// [Compile] checks a Config whole, with every mistake at once ([Diagnostics]),
// and makes a [Policy] of it, which never changes. An [Engine] decides requests
// by a Policy on a [weir.Store]: it is a [weir.Decider], for httplimit and every
// other surface. Another Policy is put in its place while requests are served
// ([Engine.Swap]): each request sees the old rules or the new, never a mix, and
// what callers have used stays.
//
// The way of a request is in decide.go, from top to bottom. What is asked of a
// rule (who is counted, by which plan) is in resolve.go, the same for
// [Engine.Decide] and [Engine.Explain].
package policy
