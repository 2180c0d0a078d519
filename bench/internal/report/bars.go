package report

import (
	"fmt"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// The bars that weir has set itself.
const (
	barSerial   = 0.6  // of the fastest keyed peer
	barParallel = 0.5  // likewise, on all processors
	barAbove    = 30   // ns above bare, serial
	barBytes    = 40   // a key, with ten million
	barScanned  = 1024 // KiB that the garbage collector looks through, likewise
	barAllocs   = 0.01 // a decision: none, and what the measuring itself needs
)

// barTable says which bars are met.
func (r *Report) barTable() Table {
	t := Table{Title: "the bars that weir has set itself", Columns: []string{"measured", "at most"}}
	for _, name := range []string{"weir Allow", "weir Take"} {
		for _, set := range keyset.Names() {
			r.speedBars(&t, name, set)
		}
		r.roomBars(&t, name)
	}
	for _, set := range keyset.Names() {
		for _, c := range lineup.Calls() {
			if of, ok := r.ofCall(&c, set); ok {
				t.bar(c.Name+", "+set, of, c.AtMost, "%.2f×", "beside "+c.Beside)
			}
		}
	}
	t.Notes = r.doubts()
	return t
}

// doubts says why a bar that is missed, or met, may be so by chance.
func (r *Report) doubts() (list []string) {
	if r.Machine.busy() {
		list = append(list, fmt.Sprintf("the machine was busy before the run began, with a load average of %s: what is MISSED or met here may not be so on a quiet one", r.Machine.LoadBegan))
	}
	rounds := 0
	for i := range r.Results {
		rounds = max(rounds, len(r.Results[i].Samples))
	}
	if rounds == 1 {
		list = append(list, "one round: what is MISSED or met here by less than two runs differ by is so by chance; -rounds 5 gives medians")
	}
	return list
}

// speedBars are those of one key set. Peers are the bar where many keys are in
// use and all peers have room for them.
func (r *Report) speedBars(t *Table, name, set string) {
	if set != "hot" && set != "1e7" {
		r.peerBar(t, name, set, measure.Serial, barSerial)
		r.peerBar(t, name, set, measure.ParallelAll, barParallel)
	}
	if above, ok := r.aboveBare(name, set); ok {
		t.bar(name+", "+set+", above bare", above, barAbove, "%.0f ns", "")
	}
	if allocs, ok := r.find(measure.Speed, set, name).most(measure.Allocs); ok {
		t.bar(name+", "+set+", allocations", allocs, barAllocs, "%.2f", "")
	}
}

// peerBar compares with the fastest keyed limiter, and with one that is faster still
// because it is not exact: the same bar, in a row of its own.
func (r *Report) peerBar(t *Table, name, set, figure string, most float64) {
	ratio, peer, ok := r.ofFastest(name, set, figure, lineup.Keyed)
	if !ok {
		return
	}
	row := name + ", " + set + ", " + r.title(figure)
	t.bar(row, ratio, most, "%.2f×", "beside "+called(peer))
	if of, fastest, _ := r.ofFastest(name, set, figure, lineup.Keyed, lineup.Counter); fastest != peer {
		t.bar(row+", of all", of, most, "%.2f×", "beside "+called(fastest))
	}
}

// roomBars are those of the largest table.
func (r *Report) roomBars(t *Table, name string) {
	large := r.find(measure.Speed, "1e7", name)
	if bytes, ok := large.most(measure.BytesPerKey); ok {
		t.bar(name+", 1e7, bytes a key", bytes, barBytes, "%.1f", "")
	}
	if scanned, ok := large.most(measure.Scanned); ok {
		t.bar(name+", 1e7, heap scanned", scanned, barScanned, "%.0f KiB", "")
	}
}

// bar adds a row that says whether a bar is met.
func (t *Table) bar(name string, measured, most float64, format, remark string) {
	row := Row{Name: name, Cells: []string{fmt.Sprintf(format, measured), fmt.Sprintf(format, most)}, Remark: "met"}
	if measured > most {
		row.Remark = "MISSED"
	}
	if remark != "" {
		row.Remark += ", " + remark
	}
	t.Rows = append(t.Rows, row)
}
