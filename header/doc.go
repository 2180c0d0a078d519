// Package header tells HTTP callers what a decision found: the RateLimit
// fields, the older X-RateLimit ones, Retry-After, and the body of a refusal.
//
//	w, err := header.New(header.Config{})
//	…
//	if !o.Allowed {
//		w.Refuse(rw, r, &o)
//		return
//	}
//	w.Write(rw.Header(), &o)
//	w.Expose(rw.Header(), r)
//	next.ServeHTTP(rw, r)
//
// A refusal by a limit looks like this on the wire:
//
//	HTTP/1.1 429 Too Many Requests
//	Cache-Control: no-store
//	Content-Type: application/problem+json
//	Ratelimit: "create-job";r=0;t=1
//	Ratelimit-Policy: "create-job";q=5;w=1
//	Retry-After: 1
//	Vary: Accept
//	X-Content-Type-Options: nosniff
//	X-Ratelimit-Limit: 5
//	X-Ratelimit-Remaining: 0
//	X-Ratelimit-Reset: 1
//
//	{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",…
//
// # RateLimit and RateLimit-Policy
//
// They follow revision 11 of the Internet-Draft "RateLimit header fields for
// HTTP", a work in progress. Both are lists (RFC 9651) with one member for each
// limit that may refuse the call; limits that only advise appear nowhere.
//
//	q            the count, in a period of
//	qu           "concurrent-requests" of a limit on how many at once
//	w            whole seconds. Another period is multiplied together with the
//	             count, 7 per 500ms becoming q=14;w=1. It is left out where that
//	             outgrows a field's integers, and for calendar months, which
//	             have no one length; a calendar's days and weeks have the usual.
//	weir-burst   how much can pass at once, where that is not q
//	r            what is left
//	t            seconds, at least 1, rounded up. Of a limit that refuses, or
//	             where r is 0, the wait for the cost of this call. Otherwise
//	             the time within which no more than r can be used: of a
//	             bucket, that in which r flow back, so that r/t never exceeds
//	             the limit's rate; of windows, the time to the end, or a whole
//	             window where nothing is counted yet. Of a sliding log it is the
//	             time until all of its count is back, also where r is 0: some
//	             may be back before. A limit on how many at once has none.
//	weir-mode    how it was decided, unless exactly: cached, local, overflow, …
//
// Numbers are clamped to what a field may hold, 0 to 999999999999999.
//
// # X-RateLimit
//
// X-RateLimit-Limit, -Remaining and -Reset tell of the rate that bound (where slots
// did, of the one of which the least share is left, and where there is none they are
// left out): its
// capacity, which -Remaining counts down from, and the seconds until nothing is
// charged any more (or, with [Config].EpochReset, when that will be).
//
// # Retry-After
//
// Always whole seconds, at least 1, rounded up, so that the caller does not come
// too early; never a date and never a fraction, which clients refuse or
// misread. It is no less than the t of any refusing limit; jitter comes on top.
// A refusal that waiting does not cure has none.
//
// # With other writers of the same fields
//
// RateLimit and RateLimit-Policy compose: members that stand there already, an
// upstream's or another limiter's, stay, and ours follow on a line of their
// own. The X-RateLimit fields hold one limit, so they are replaced where one of ours
// is written: under slots alone none is. Fields are written before a handler runs: a handler that sets them has the last word.
//
// Keys are those that [net/http.Header] makes of the names (Ratelimit,
// X-Ratelimit-Limit), and HTTP/1.1 sends them so: field names have no case, but
// with the draft's spelling in the map, a handler's Get, Set and Del would miss
// them.
//
// Every answer has slices of its own, without room behind them: whatever an
// application appends to them or writes into them stays in that answer.
//
// # Known readers
//
// The npm package ratelimit-header-parser finds RateLimit, reads it as an older
// draft, and gives NaN without looking further. Where such clients matter, set
// [Config].NoRateLimit. Clients that take X-RateLimit-Reset for an instant, as
// octokit does, need EpochReset.
package header
