// Package ops answers those who run the daemon: whether it lives, whether it is
// ready for traffic, and what it counts.
//
//	GET /healthz   200 while the process lives; it asks neither store nor rules
//	GET /readyz    200, or 503 with what it waits for
//	GET /metrics   for Prometheus
//
// Nothing can be changed here, and no answer holds a key or an address.
package ops
