// Package xtime is docs/migrate-xtime.md as a program: the code before and after,
// and tests that both let the same requests through.
package xtime
