// Package problem writes the errors of the daemon's own surfaces: problem
// documents (RFC 9457). Refusals by limits are written by package header.
package problem
