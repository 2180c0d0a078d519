package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/bench/internal/measure"
)

// A Report is all that one run has found.
type Report struct {
	Machine Machine  // where and how
	Results []Result // in the order in which they were first measured
}

// A Result is what all rounds found for one contender in one part of the run.
type Result struct {
	// Part, Set and Contender are those of the requests.
	Part, Set, Contender string
	// Samples are the figures of each round, by their names in package measure.
	Samples []map[string]float64
	// Skipped says why nothing was measured, Failed what went wrong.
	Skipped, Failed string
}

// Add keeps what one request came to.
func (r *Report) Add(q measure.Request, s measure.Sample, err error) {
	at := slices.IndexFunc(r.Results, func(have Result) bool {
		return have.Part == q.Part && have.Set == q.Set && have.Contender == q.Contender
	})
	if at < 0 {
		at = len(r.Results)
		r.Results = append(r.Results, Result{Part: q.Part, Set: q.Set, Contender: q.Contender})
	}
	result := &r.Results[at]
	switch {
	case err != nil:
		result.Failed = err.Error()
	case s.Skipped != "":
		result.Skipped = s.Skipped
	default:
		result.Samples = append(result.Samples, s.Values)
	}
}

// Failed reports whether anything went wrong.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Results, func(res Result) bool { return res.Failed != "" })
}

// find gives the result of a contender, an empty one if there is none.
func (r *Report) find(part, set, contender string) *Result {
	for i := range r.Results {
		if res := &r.Results[i]; res.Part == part && res.Set == set && res.Contender == contender {
			return res
		}
	}
	return &Result{Part: part, Set: set, Contender: contender}
}

// values are a figure's, of all rounds that have it.
func (r *Result) values(figure string) []float64 {
	var list []float64
	for _, s := range r.Samples {
		if v, ok := s[figure]; ok {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// median is a figure's over all rounds; ok is false where it was not measured.
func (r *Result) median(figure string) (v float64, ok bool) {
	list := r.values(figure)
	if len(list) == 0 {
		return 0, false
	}
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2, true
}

// most is a figure's highest value over all rounds.
func (r *Result) most(figure string) (v float64, ok bool) {
	list := r.values(figure)
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1], true
}

// spread says in words how far the rounds of some results differ in a figure:
// (highest − lowest) / median.
func spread(results []*Result, figure string) string {
	var parts []float64
	rounds := 0
	for _, r := range results {
		list := r.values(figure)
		if len(list) == 0 {
			continue
		}
		rounds = max(rounds, len(list))
		middle, _ := r.median(figure)
		parts = append(parts, (list[len(list)-1]-list[0])/middle*100)
	}
	if rounds < 2 {
		return "one round: what differs between runs is not known"
	}
	slices.Sort(parts)
	return fmt.Sprintf("medians of %d rounds; between the fastest and the slowest round lie %.0f %% (middle row), %.0f %% (worst row), in column %s",
		rounds, parts[len(parts)/2], parts[len(parts)-1], strings.TrimSuffix(figure, " ns"))
}
