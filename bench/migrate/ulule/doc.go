// Package ulule is docs/migrate-ulule.md as a program: the code before and after,
// and tests that both let the same requests through and write the same fields.
package ulule
