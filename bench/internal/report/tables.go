package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// A column shows one figure.
type column struct {
	figure string
	// compared says that less is better and that a row of ours says who has
	// less; a difference below grain is none.
	compared bool
	grain    float64
	format   func(float64) string
}

// speedColumns are those of a key set; a column that no row has is left out.
var speedColumns = [...]column{
	{measure.Serial, true, 0, nanos},
	{measure.ParallelOne, true, 0, nanos},
	{measure.ParallelAll, true, 0, nanos},
	{measure.RefuseSerial, true, 0, nanos},
	{measure.RefuseAll, true, 0, nanos},
	{measure.Allocs, true, 0.5, whole},
	{measure.BytesPerKey, true, 0, whole},
	{measure.Scanned, true, 256, whole},
	{measure.Collection, true, 0.2, tenths},
}

func nanos(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return whole(v)
}

func whole(v float64) string  { return fmt.Sprintf("%.0f", math.Round(v)+0) } // +0, since −0.4 is rounded to −0
func tenths(v float64) string { return fmt.Sprintf("%.1f", v) }

// Tables are the report in the order in which it is printed.
func (r *Report) Tables() []Table {
	var list []Table
	for _, set := range keyset.Names() {
		if t := r.speedTable(set); len(t.Rows) > 0 {
			list = append(list, t)
		}
	}
	for _, set := range keyset.Names() {
		if t := r.callTable(set); len(t.Rows) > 0 {
			list = append(list, t)
		}
	}
	for _, t := range []Table{r.latencyTable(), r.contentionTable(), r.barTable()} {
		if len(t.Rows) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// part lists the results of a part and set, in the order of the lineup.
func (r *Report) part(part, set string) (results []*Result, contenders []lineup.Contender) {
	for _, c := range lineup.All() {
		if res := r.find(part, set, c.Name); len(res.Samples) > 0 || res.Skipped != "" || res.Failed != "" {
			results, contenders = append(results, res), append(contenders, c)
		}
	}
	return results, contenders
}

// title is a figure's name above a column: with the number of processors for n,
// and without its phase and the unit that is the table's.
func (r *Report) title(figure string) string {
	if _, name, ok := strings.Cut(figure, ": "); ok {
		figure = name
	}
	return strings.TrimSuffix(strings.Replace(figure, "nP", fmt.Sprint(r.Machine.CPUs, "P"), 1), " ns")
}

func (r *Report) speedTable(set string) Table {
	results, contenders := r.part(measure.Speed, set)
	t := Table{Title: "ns a decision: " + keyset.Title(set)}
	var shown []column
	for _, c := range speedColumns {
		if slices.ContainsFunc(results, func(res *Result) bool { return len(res.values(c.figure)) > 0 }) {
			shown = append(shown, c)
			t.Columns = append(t.Columns, r.title(c.figure))
		}
	}
	for i, res := range results {
		row := Row{Name: res.Contender, Cells: cells(res, shown)}
		row.Remark, row.Stands = remarks(res, contenders[i].Remark), r.compare(&contenders[i], set, shown)
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{spread(results, measure.Serial)}
	return t
}

func cells(res *Result, columns []column) []string {
	var list []string
	for _, c := range columns {
		v, ok := res.median(c.figure)
		if !ok {
			list = append(list, none)
			continue
		}
		list = append(list, c.format(v))
	}
	return list
}

// remarks joins what is to be said of a row.
func remarks(res *Result, more ...string) string {
	list := slices.DeleteFunc(more, func(s string) bool { return s == "" })
	if v, ok := res.most(measure.FailedShare); ok && v > 0 {
		list = append(list, fmt.Sprintf("up to %.2g %% of the asks fail with an error", 100*v))
	}
	if res.Skipped != "" {
		list = append(list, res.Skipped)
	}
	if res.Failed != "" {
		list = append(list, "FAILED: "+res.Failed)
	}
	return strings.Join(list, "; ")
}

func (r *Report) callTable(set string) Table {
	t := Table{Title: "ns a call of weir's store: " + keyset.Title(set), Columns: []string{r.title(measure.Serial), r.title(measure.ParallelAll), measure.Allocs, "of it", "at most"}}
	var results []*Result
	for _, c := range lineup.Calls() {
		res := r.find(measure.Calls, set, c.Name)
		if len(res.Samples) == 0 && res.Failed == "" {
			continue
		}
		row := Row{Name: c.Name, Cells: cells(res, []column{{format: nanos, figure: measure.Serial}, {format: nanos, figure: measure.ParallelAll}, {format: whole, figure: measure.Allocs}})}
		if of, ok := r.ofCall(&c, set); ok {
			row.Cells = append(row.Cells, fmt.Sprintf("%.2f×", of), fmt.Sprintf("%.1f×", c.AtMost))
			row.Remark = remarks(res, "beside "+c.Beside)
		} else {
			row.Cells = append(row.Cells, none, none)
			row.Remark = remarks(res)
		}
		t.Rows = append(t.Rows, row)
		results = append(results, res)
	}
	t.Notes = []string{spread(results, measure.Serial)}
	return t
}

// ofCall is what a call costs of the one that it is compared with, serially.
func (r *Report) ofCall(c *lineup.Call, set string) (float64, bool) {
	mine, ok := r.find(measure.Calls, set, c.Name).median(measure.Serial)
	base, okBase := r.find(measure.Calls, set, c.Beside).median(measure.Serial)
	return mine / base, ok && okBase
}

func (r *Report) contentionTable() Table {
	q := measure.Real()
	results, contenders := r.part(measure.Contention, "")
	t := Table{
		Title:   fmt.Sprintf("admitted, when many ask for one key at once: %d/s, burst %d", q.Count, q.Burst),
		Columns: []string{"Masks/s", "admitted", "bound", "of it", fmt.Sprintf("of %d + %d/s", q.Burst, q.Count)},
		Notes:   []string{"the round that admitted most; the bound is that of the limiter's own algorithm, the last column that of a token bucket"},
	}
	for i, res := range results {
		row := Row{Name: res.Contender, Cells: []string{none, none, none, none, none}}
		if s := worst(res, contenders[i].Algorithm); s != nil {
			took := time.Duration(s[measure.Elapsed] * float64(time.Second))
			most := float64(contenders[i].Algorithm.Most(q, took))
			asked := float64(lineup.TokenBucket.Most(q, took))
			row.Cells = []string{
				fmt.Sprintf("%.1f", s[measure.Asked]/s[measure.Elapsed]/1e6), whole(s[measure.Admitted]), whole(most),
				percent(s[measure.Admitted] / most), percent(s[measure.Admitted] / asked),
			}
			row.Remark = remarks(res, contention(&contenders[i], s, most))
		} else {
			row.Remark = remarks(res)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// worst is the round that admitted most of what it might.
func worst(res *Result, a lineup.Algorithm) (found map[string]float64) {
	highest := -1.0
	for _, s := range res.Samples {
		of := s[measure.Admitted] / float64(a.Most(measure.Real(), time.Duration(s[measure.Elapsed]*float64(time.Second))))
		if of > highest {
			highest, found = of, s
		}
	}
	return found
}

// contention says what is wrong with a row of accuracy.
func contention(c *lineup.Contender, s map[string]float64, most float64) string {
	list := []string{c.Algorithm.String()}
	if s[measure.Admitted] > most {
		list = append(list, fmt.Sprintf("ABOVE ITS BOUND by %.0f", s[measure.Admitted]-most))
	}
	if s[measure.FailedAsks] > 0 {
		list = append(list, fmt.Sprintf("%.0f asks failed with an error", s[measure.FailedAsks]))
	}
	if c.Waits {
		list = append(list, c.Remark)
	}
	return strings.Join(list, "; ")
}
