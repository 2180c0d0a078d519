// Package metrics counts what the daemon decides, for Prometheus.
//
// Every label comes from the configuration or from a list that the code holds, so
// that the number of series does not depend on who calls, and no key, address or
// path is ever told. What a rule counted goes with the rule: after a reload
// without it, its series are gone at the next scrape.
//
// The series are listed in docs/metrics.md.
package metrics
