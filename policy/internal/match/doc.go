// Package match says which patterns a request fits, on the canonical form of its
// path.
package match
