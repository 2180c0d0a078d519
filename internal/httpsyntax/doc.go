// Package httpsyntax knows the characters of HTTP (RFC 9110), for all that read
// names of headers and methods.
package httpsyntax
