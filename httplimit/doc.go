// Package httplimit puts limits in front of an [net/http.Handler].
//
//	store, err := memstore.New(memstore.Config{})
//	…
//	m, err := httplimit.New(httplimit.Config{
//		Store: store,
//		Rules: []httplimit.Rule{{Name: "create-job", Limits: []string{"5/s burst 5"}}},
//	})
//	…
//	mux.Handle("POST /api/v1/jobs", m.Handler(jobs))
//
// [Middleware.Check] is the decision, [Middleware.Handler] acts on it. Every
// answer, let through or refused, carries what package header writes: how much
// is left, and when to come back. A refusal is 429, or what [header.Status]
// says of its cause.
//
// # Which requests
//
// A [Rule] has no path and no method: a Middleware limits what is routed to it.
// Wrap the handler that is registered under a pattern, not the whole mux, and
// what the router takes for another route is never counted, and what it takes
// for this one always is, however its path is spelled. No key contains the path
// either, so that no spelling of it is worth a fresh bucket. HEAD, OPTIONS and
// whatever else reaches the handler count as they were sent; a method named in a
// header or a form is not looked at.
//
// # Who is calling
//
// By default the peer's address is the caller, and no header is believed.
// Behind a proxy, [Config.ClientIP] says which peers may name the caller, and in
// which header. A header or a path value as a key is text that the caller
// chooses: whoever sends a new one has a new bucket, and whoever sends another's
// spends another's. Join such a rule with one by address, or make the key with
// [By] of what has been verified.
//
// # What is charged
//
// All rules of a Middleware are one call of the store: all of their limits are
// charged, or, when one refuses, none. A handler that panics gives the charge
// back; one that is aborted (http.ErrAbortHandler) does not, because a client
// can cause that by leaving.
//
// # When something fails
//
// A store that errs, and a panic in a store or in a rule's functions, is
// answered as the rule says ([Rule.OnError]): 503, or let pass. It never drops
// the connection, and [Config.Observer] is told.
//
// # The body of a refused request
//
// It is not read here. net/http reads and drops up to 256 KiB of a body before
// the connection takes the next request. Where HTTP/1 announces more than 64
// KiB, or does not say how much, the refusal carries Connection: close, so that
// it goes out at once and a refused upload costs no more than what net/http
// reads while closing. HTTP/2 resets the stream by itself.
package httplimit
