// Package httpsyntax knows the tokens and hosts of HTTP (RFC 9110), for all that read
// names of headers, methods and hosts.
package httpsyntax
