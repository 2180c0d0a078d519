// Package match says which patterns a request fits, on the canonical form of its
// path.
//
// A [Pattern] is written as net/http's ServeMux has it: an optional method, an
// optional host, a path with wildcards. A [Path] is what a request's path comes
// down to when each segment is decoded once, and empty segments, dot segments
// and parameters are gone. A [Set] finds the rules that a request fits.
//
// The aim is that no spelling of a path gets around a rule. Where a spelling
// could be read in two ways, Path.Parse says so ([Ambiguity]), and the caller
// refuses it; where a choice had to be made between fitting more and fitting
// less, more fits: a trailing slash, a port, a HEAD for a GET, an encoded
// semicolon.
//
// Methods are compared as they were sent: "post" is no POST. Headers and
// parameters that ask for another method mean nothing here.
package match
