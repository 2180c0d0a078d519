// Package report turns samples into tables: medians, what differs between runs,
// and for each of weir's rows how far it is from the fastest peer, and what it
// loses to whom.
package report
