package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// series are the descriptions of all that is made at a scrape.
type series struct {
	decisions, blocked, lastMatch  *prometheus.Desc
	unmatched, exempt, fallback    *prometheus.Desc
	storeErrors                    *prometheus.Desc
	keys, keysUsed, keysMax        *prometheus.Desc
	slotsHeld, evictions           *prometheus.Desc
	overflow, clockSteps           *prometheus.Desc
	reload, reloadTime, configInfo *prometheus.Desc
	enforce, build                 *prometheus.Desc
	connections, accepted, closed  *prometheus.Desc
	proxyFailures, slotsLost       *prometheus.Desc
	waiting, waitingMax            *prometheus.Desc
}

func newSeries() series {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("weir_"+name, help, labels, nil)
	}
	return series{
		decisions: d("decisions_total", "Decisions: one for each take, and one for each rule that decided without.", "rule", "limit", "outcome", "mode", "shadow"),
		blocked:   d("blocked_total", "Refusals that a block was the reason for, or that began one; among the decisions that are refused.", "rule", "limit", "shadow"),
		lastMatch: d("rule_last_match_timestamp_seconds", "When a request matched the rule last, to the second; 0 for never.", "rule"),
		unmatched: d("unmatched_total", "Requests that no rule matched."),
		exempt:    d("exempt_total", "Requests that an entry of exempt let pass."),
		fallback:  d("client_ip_fallback_total", "Requests whose caller's address is not sure, so that another was counted.", "reason"),

		storeErrors: d("store_errors_total", "Calls of the store that failed.", "kind"),
		keys:        d("keys", "Entries held, by rule.", "rule"),
		keysUsed:    d("keys_used", "How much of weir_keys_max the entries take, by rule: those of sliding logs and of slots more than 1.", "rule"),
		keysMax:     d("keys_max", "The most entries there can be, if each takes 1."),
		slotsHeld:   d("slots_held", "Slots under concurrency limits that were granted, and neither released nor found to have ended, by rule.", "rule"),
		evictions:   d("evictions_total", "Entries removed because they said nothing any more."),
		overflow:    d("overflow_total", "Decisions on a cell that keys share for want of room, by rule.", "rule"),
		clockSteps:  d("clock_steps_total", "Times the store's clock was moved forward after the wall clock."),

		reload:     d("config_last_reload_successful", "Whether the last load of the rules succeeded."),
		reloadTime: d("config_last_reload_success_timestamp_seconds", "When rules were loaded last."),
		configInfo: d("config_info", "The rules that are in force, by their digest.", "digest"),
		enforce:    d("enforce", "The position of the switch.", "state"),
		build:      d("build_info", "What was built.", "version", "revision", "goversion"),

		connections: d("listener_connections", "Open connections.", "listener"),
		accepted:    d("listener_accepted_total", "Connections that were let in.", "listener"),
		closed:      d("listener_refused_total", "Connections that were closed at once, by the bound that they would have broken.", "listener", "bound"),

		proxyFailures: d("proxy_failures_total", "Requests that the proxy let in and did not serve, or could not decide.", "kind"),
		slotsLost:     d("proxy_slots_lost_total", "Requests whose slot under a concurrency limit was lost while they were served."),
		waiting:       d("proxy_waiting", "Requests that the proxy keeps waiting for their turn under leaky buckets."),
		waitingMax:    d("proxy_waiting_max", "The most that may wait at once."),
	}
}

// newTimes makes a histogram of times. Decisions in memory take a microsecond or
// two; a second is beyond any deadline.
func newTimes(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{
		1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1,
	}})
}
