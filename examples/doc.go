// Package examples shows how limits are written, each short enough to copy. They
// are tests: what they print is checked.
//
// Folder api is a server to run.
package examples
