package report

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// latencyColumns are those of a phase.
func latencyColumns(phase string) []column {
	var list []column
	for _, figure := range []string{measure.Median, measure.P99, measure.P999, measure.P9999, measure.Longest} {
		list = append(list, column{measure.In(phase, figure), true, 0, micros})
	}
	return append(list, column{measure.In(phase, measure.MiB), true, 0.5, tenths})
}

// micros are three digits of so many ns, in µs.
func micros(v float64) string {
	switch v /= 1000; {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return whole(v)
	}
}

// latencyTable has a row for each phase and contender, phase by phase.
func (r *Report) latencyTable() Table {
	t := Table{Title: "µs a decision, one by one, while a table grows, sweeps and is flooded", Columns: []string{"phase"}}
	for _, c := range latencyColumns("") {
		t.Columns = append(t.Columns, r.title(c.figure))
	}
	var clocks []float64
	for _, phase := range measure.Phases() {
		results, contenders := r.part(measure.Latency, phase[1])
		for i, res := range results {
			t.Rows = append(t.Rows, r.latencyRow(phase[0], res, &contenders[i]))
			if v, ok := res.median(measure.Clock); ok {
				clocks = append(clocks, v)
			}
		}
		if len(results) > 0 {
			t.Notes = append(t.Notes, phase[0]+": "+spread(results, measure.In(phase[0], measure.P999)))
		}
	}
	if len(clocks) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("reading the clock is in each figure: %.0f to %.0f ns of it, the medians of timing nothing; loop is a decision that does nothing else, and what it has beyond the clock is the machine's", slices.Min(clocks), slices.Max(clocks)))
	}
	return t
}

func (r *Report) latencyRow(phase string, res *Result, c *lineup.Contender) Row {
	columns := latencyColumns(phase)
	row := Row{Name: res.Contender, Called: res.Contender + ", " + phase, Cells: append([]string{phase}, cells(res, columns)...)}
	row.Remark, row.Stands = remarks(res, happened(phase, res, c)...), r.losses(c, measure.Latency, res.Set, columns)
	return row
}

// happened is what a phase did beside taking time: the worst of all rounds.
func happened(phase string, res *Result, c *lineup.Contender) (list []string) {
	tell := func(figure, format string) {
		if v, ok := res.most(measure.In(phase, figure)); ok && v > 0 {
			list = append(list, fmt.Sprintf(format, v))
		}
	}
	switch phase {
	case measure.Sweep:
		if len(res.Samples) > 0 && c.Forgets != "" {
			list = append(list, c.Forgets)
		}
		tell(measure.Freed, "up to %.1f dead keys freed by a new one")
	case measure.Flood:
		if v, ok := res.median(measure.In(phase, measure.Strangers)); ok && !c.Bounded && c.Kind != lineup.Floor {
			list = append(list, fmt.Sprintf("NO BOUND: it keeps all %.0f", v))
		}
		tell(measure.TurnedAway, "%.0f strangers were refused, for they shared cells")
	case measure.Known:
		if v, ok := res.most(measure.In(phase, measure.LetThrough)); ok && v == 0 {
			list = append(list, "he stays limited")
		}
		tell(measure.LetThrough, "LETS HIM THROUGH %.0f times beyond his limit")
		if v, _ := res.most(measure.In(phase, measure.Forgotten)); v > 0 {
			list = append(list, "FORGETS a caller at his limit who does not ask during the flood")
		}
	}
	return list
}
