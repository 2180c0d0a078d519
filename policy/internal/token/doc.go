// Package token verifies JSON Web Tokens (RFC 7519, RFC 8725) for keys and
// plans by claim, and remembers those it has verified.
//
// Who signs, and how, is pinned by the configuration: the algorithms are listed,
// each is tied to keys of its kind, and nothing in a token's header can widen
// that. The payload is not looked at before the signature holds. A token that
// does not verify says nothing about its bearer, and the error says nothing of
// the token but a [Reason].
//
// Work and memory are bounded: by [Config.MaxBytes] for one token, by four
// signatures for one without a key's id, by [Config.MaxTokens] for what is
// remembered. There is no clock and no goroutine; the time is an argument.
package token
