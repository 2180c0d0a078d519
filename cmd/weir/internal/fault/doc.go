// Package fault names the kinds of failures that metrics and logs tell apart. An
// error's text is for neither: it may hold anything.
package fault
