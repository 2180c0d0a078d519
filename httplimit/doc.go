// Package httplimit puts limits in front of an [net/http.Handler], and behind an
// [net/http.Client].
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
// # Who waits
//
// A request that a leaky bucket lets in later is kept waiting until then: before its
// body is read and without an answer, so that ReadTimeout and WriteTimeout of the
// server have to be longer than the longest wait. A caller who leaves meanwhile gets
// back what he was charged, and the handler never hears of him. At most
// [Config.MaxWaiting] requests wait at once. [Middleware.Drain] sends them away when
// a server ends. A caller who has sent a body is seen to have left when that is
// read.
//
// # How many at once
//
// A limit such as `5 concurrent` counts requests in flight: each holds a slot until the
// handler returns, or panics, or has sent its answer's last byte to a client who may be
// long gone. While it waits for its turn it holds one already. Slots are renewed in the
// background, however long a request lasts; those of a process that dies are free a
// lease later. A handler that hijacks its connection holds the slot until it returns,
// and no longer. The cost of a request does not multiply its slots.
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
//
// # Behind a client
//
// A [Transport] sends a request when there is room under a limit of one's own, and
// when the far side wants it, by what its answers said:
//
//   - 429, and 403 and 503 with Retry-After: nothing before that. A 429 that does
//     not say for how long is a second, and twice as long with each in a row, up
//     to 64 seconds;
//   - RateLimit (draft 11, and as it was from revision 00 on), X-RateLimit-* and
//     their kin: no more requests than are left until the reset, counting those
//     that are under way, of each quota for itself.
//
// A field of more than 4 KiB, 32 members or 32 lines is not read.
//
// After a pause one request goes first, and the others when it is answered, or a
// second later. Instants that the far side names (an HTTP date, a time since 1970)
// are measured from its own Date, so that no clock has to be right.
//
// With [TransportConfig.Retries] a refused request is sent again. It is one whose
// method is idempotent, POST and PATCH not among them unless they carry an
// Idempotency-Key, and that has no body or one that [net/http.Request.GetBody]
// gives anew. Any other refusal, and the last one, is the answer, whole and unread. One
// whose request may not be sent again after all is the answer as well, with up to
// 16 KiB of its body.
//
// Memory is bounded by the requests under way and 4096 keys beside them, whatever
// hosts are asked and whatever they say. Of more, those are forgotten first that let
// requests through, and then the one whose pause ends first.
package httplimit
