// Package spool keeps a log from holding up what it tells of: lines wait in a
// bounded queue for whoever reads them, and are left out, and counted, when he
// does not.
package spool
