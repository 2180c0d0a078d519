// Package migrate holds what docs/migrate-xtime.md and docs/migrate-ulule.md show,
// as code that is built and tested beside what it replaces.
package migrate
