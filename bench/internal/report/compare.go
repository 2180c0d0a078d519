package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// tie is how much slower than a peer a row of ours may be and not be said to
// lose: less than two runs of one limiter differ by.
const tie = 1.02

// ours reports whether a row is weir's.
func ours(name string) bool { return strings.HasPrefix(name, "weir ") }

// compare says how a row of weir's stands beside the peers and the floor, and
// nothing of other rows: figure by figure.
func (r *Report) compare(c *lineup.Contender, set string, columns []column) []string {
	if c.Kind != lineup.Weir {
		return nil
	}
	var list []string
	for _, figure := range []string{measure.Serial, measure.ParallelOne, measure.ParallelAll} {
		if ratio, fastest, ok := r.ofFastest(c.Name, set, figure, lineup.Keyed, lineup.Counter); ok {
			list = append(list, fmt.Sprintf("%s %.2f× %s", r.title(figure), ratio, fastest))
		}
	}
	if above, ok := r.aboveBare(c.Name, set); ok {
		list = append(list, fmt.Sprintf("bare %+.0f ns", above))
	}
	losses := r.losses(c, measure.Speed, set, columns)
	for i := range list {
		if i < len(list)-1 || len(losses) > 0 {
			list[i] += ";"
		}
	}
	return append(list, losses...)
}

// ofFastest is what a contender takes of the time of the fastest peer of some
// kinds, and who that is.
func (r *Report) ofFastest(name, set, figure string, kinds ...lineup.Kind) (ratio float64, fastest string, ok bool) {
	mine, ok := r.find(measure.Speed, set, name).median(figure)
	peer, fastest := r.least(measure.Speed, set, figure, kinds...)
	if !ok || fastest == "" {
		return 0, "", false
	}
	return mine / peer, fastest, true
}

// aboveBare is what a decision costs beyond what none can do without, in ns.
func (r *Report) aboveBare(name, set string) (float64, bool) {
	mine, ok := r.find(measure.Speed, set, name).median(measure.Serial)
	bare, okBare := r.find(measure.Speed, set, "bare").median(measure.Serial)
	return mine - bare, ok && okBare
}

// least is the lowest median of a figure among the peers of some kinds.
func (r *Report) least(part, set, figure string, kinds ...lineup.Kind) (v float64, name string) {
	for _, c := range lineup.All() {
		if !slices.Contains(kinds, c.Kind) {
			continue
		}
		if got, ok := r.find(part, set, c.Name).median(figure); ok && (name == "" || got < v) {
			v, name = got, c.Name
		}
	}
	return v, name
}

// losses names the columns in which a peer has less than a row of ours, one by one.
func (r *Report) losses(c *lineup.Contender, part, set string, columns []column) []string {
	if c.Kind != lineup.Weir {
		return nil
	}
	var lost []string
	compared := false
	for _, col := range columns {
		mine, ok := r.find(part, set, c.Name).median(col.figure)
		best, who := r.least(part, set, col.figure, lineup.Keyed, lineup.Counter, lineup.Single)
		if !col.compared || !ok || who == "" {
			continue
		}
		compared = true
		if mine > best*tie && mine-best >= col.grain {
			lost = append(lost, fmt.Sprintf("%s to %s (%s)", r.title(col.figure), called(who), col.format(best)))
		}
	}
	switch {
	case !compared:
		return nil
	case len(lost) == 0:
		return []string{"loses nothing"}
	}
	lost[0] = "LOSES " + lost[0]
	for i := range len(lost) - 1 {
		lost[i] += ","
	}
	return lost
}

// called adds to a name what its owner does not do, or not well.
func called(name string) string {
	for _, c := range lineup.All() {
		switch {
		case c.Name != name:
		case c.Kind == lineup.Single:
			return name + ", of one key only"
		case c.Kind == lineup.Counter:
			return name + ", which is not exact"
		}
	}
	return name
}
