package algorithm_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir/algorithm"
)

type entry = algorithm.Entry

const (
	bucketFamily = algorithm.TokenBucketFamily
	windowFamily = algorithm.FixedWindowFamily
)

// What is written stands as documented, and is read back.
func TestRecord(t *testing.T) {
	f := func(want string, entries ...entry) {
		t.Helper()
		if got := string(algorithm.AppendRecord([]byte("kept"), entries)); got != "kept"+want {
			t.Errorf("got  %s\nwant kept%s", got, want)
		}
		read, err := algorithm.ParseRecord([]entry{{Slot: "kept"}}, want)
		if diff := cmp.Diff(append([]entry{{Slot: "kept"}}, entries...), read); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", want, err, diff)
		}
	}
	f("1")
	f("1;=b1796022366200000,0,1,200000", entry{Family: bucketFamily, State: state{1_796_022_366_200_000, 0, 1, 200_000}})
	f("1;1m=b1796022366200000,0,1,200000;1d=w1795996800000000,1796083200000000,17",
		entry{Slot: "1m", Family: bucketFamily, State: state{1_796_022_366_200_000, 0, 1, 200_000}},
		entry{Slot: "1d", Family: windowFamily, State: state{1_795_996_800_000_000, 1_796_083_200_000_000, 17}})
	f("1;block=p1796022366200000,1796022366300000", entry{Slot: "block", Family: algorithm.PenaltyFamily, State: state{1_796_022_366_200_000, 1_796_022_366_300_000}})
	f("1;1m=s1796022360000000,1796022420000000,0,30", entry{Slot: "1m", Family: algorithm.SlidingWindowFamily, State: state{1_796_022_360_000_000, 1_796_022_420_000_000, 0, 30}})
	f("1;=q1796022366200000,0,1,200000", entry{Family: algorithm.LeakyBucketFamily, State: state{1_796_022_366_200_000, 0, 1, 200_000}})
	f("1;a.b_c-9=w-5,3,1", entry{Slot: "a.b_c-9", Family: windowFamily, State: state{-5, 3, 1}})
	f("1;=w0,1,1", entry{Family: windowFamily, State: state{0, 1, 1}})
	f("1;=s0,1,1,0", entry{Family: algorithm.SlidingWindowFamily, State: state{0, 1, 1, 0}})
	f("1;=b1,0,1,4503599627370495", entry{Family: bucketFamily, State: state{1, 0, 1, 1<<52 - 1}})
	f("1;1m=b9007199254740991,4503599627370494,4503599627370495,4503599627370494",
		entry{Slot: "1m", Family: bucketFamily, State: state{1<<53 - 1, 1<<52 - 2, 1<<52 - 1, 1<<52 - 2}})
	f("1;=p1,2", entry{Family: algorithm.PenaltyFamily, State: state{1, 2}})
	f("1;az09=a0,9;=z-90", entry{Slot: "az09", Family: 'a', Raw: "0,9"}, entry{Family: 'z', Raw: "-90"}) // the ends of what the grammar has
	f("1;1m=l1,2,3;slots=c-7", entry{Slot: "1m", Family: algorithm.SlidingLogFamily, Raw: "1,2,3"}, entry{Slot: "slots", Family: algorithm.ConcurrencyFamily, Raw: "-7"})
}

// Nothing that is charged leaves nothing behind.
func TestRecordLeavesOutZeroStates(t *testing.T) {
	got := string(algorithm.AppendRecord(nil, []entry{{Slot: "1m", Family: bucketFamily}, {Slot: "1d", Family: windowFamily}}))
	if got != "1" {
		t.Errorf("got %s, want 1", got)
	}
}

func TestParseRecordRefuses(t *testing.T) {
	f := func(record string) {
		t.Helper()
		before := []entry{{Slot: "kept"}}
		read, err := algorithm.ParseRecord(before, record)
		if !errors.Is(err, algorithm.ErrRecord) {
			t.Errorf("%q: got error %v, want ErrRecord", record, err)
		}
		if diff := cmp.Diff(before, read); diff != "" {
			t.Errorf("%q leaves something behind: %s", record, diff)
		}
	}
	const good = "1m=b1796022366200000,0,1,200000"
	f("")
	f("0")
	f("2;" + good)
	f(" 1;" + good)
	f("1" + good)
	f("1;")
	f("1;" + good + ";")
	f("1;;" + good)
	f("1;" + good + "\n")
	f("1;" + good + ";" + good)
	f("1;" + good + ";1m=w1,2,3")
	f("1;1m")
	f("1;1m=")
	f("1;1M=w1,2,3")
	f("1;1 m=w1,2,3")
	f("1;1m=W1,2,3")
	f("1;1m=1,2,3")
	f("1;1m==w1,2,3")
	// words
	f("1;=w")
	f("1;=w1,2")
	f("1;=w1,2,3,4")
	f("1;=w1,2,3,")
	f("1;=w1,,3")
	f("1;=w+1,2,3")
	f("1;=w01,2,3")
	f("1;=w-0,2,3")
	f("1;=w1,2,3e0")
	f("1;=w1,2, 3")
	f("1;=w1,2,9007199254740992")
	f("1;=w-9007199254740992,2,3")
	f("1;=w1,2,99999999999999999999")
	f("1;=b1,0,1")
	f("1;=b5,0,1,1,1")
	// states that no step writes
	f("1;=w2,2,1")
	f("1;=w3,2,1")
	f("1;=w1,2,0")
	f("1;=w1,2,-1")
	f("1;=s1,2,3")
	f("1;=s2,2,1,1")
	f("1;=s1,2,0,0")
	f("1;=s1,2,-1,2")
	f("1;=s1,2,2,-1")
	f("1;=b0,0,1,1")
	f("1;=b-5,0,1,1")
	f("1;=b5,0,2,4") // not in lowest terms
	f("1;=b5,-1,1,1")
	f("1;=b5,1,1,1")
	f("1;=b5,0,0,1")
	f("1;=b5,0,-1,1")
	f("1;=b5,0,1,0")
	f("1;=b5,0,1,-1")
	f("1;=b5,0,4503599627370496,1")
	f("1;=b5,0,1,4503599627370496")
	f("1;=p0,5")
	f("1;=p-1,5")
	f("1;=p-5,-1")
	f("1;=p5,5")
	f("1;=p6,5")
	f("1;=p1,2,3")
	f("1;=q5,1,1,1")
	f("1;=q5,0,1")
	// families of a later version
	f("1;=l")
	f("1;=l1.5")
	f("1;=labc")
	f("1;=l1 2")
}

// Whatever is walked to is written and read back, bit for bit.
func TestRecordOfEveryState(t *testing.T) {
	d := roll(6)
	limits := append(everyday(t), atTheEdge(t)...)
	limits = append(limits, window(t, "3 per 7us fixed-window"), window(t, "9 per 4503599627370495us fixed-window spread"))
	limits = append(limits, window(t, "3 per 7us sliding-window"), window(t, "3 per 2251799813685248us sliding-window spread"))
	limits = append(append(limits, queues(t)...), queuesAtTheEdge(t)...)
	for _, l := range limits {
		w := newWalk(t, d, l)
		for range steps() / 100 / len(limits) {
			w.run(1)
			if w.states[l.ID()] == (state{}) {
				continue
			}
			want := []entry{{Slot: "1m", Family: l.Algorithm().Family(), State: w.states[l.ID()]}}
			record := string(algorithm.AppendRecord(nil, want))
			got, err := algorithm.ParseRecord(nil, record)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("%s under %s (-want +got): %v\n%s", record, l, err, diff)
			}
		}
	}
}

// What is accepted is written again as it stood, and no algorithm panics on it.
func FuzzParseRecord(f *testing.F) {
	f.Add("1")
	f.Add("1;=b1796022366200000,0,1,200000")
	f.Add("1;1m=b1796022366200000,3,7,9;1d=w1795996800000000,1796083200000000,17;x=l1,-2;y=s1795996800000000,1796083200000000,17,0")
	f.Add("1;=q1796022366200000,3,7,9")
	f.Add("1;a=b9007199254740991,4503599627370494,4503599627370495,1;b=w-9007199254740991,9007199254740991,9007199254740991")
	f.Fuzz(func(t *testing.T, record string) {
		entries, err := algorithm.ParseRecord(nil, record)
		if err != nil {
			if len(entries) > 0 || !errors.Is(err, algorithm.ErrRecord) {
				t.Fatalf("%q: %v, error %v", record, entries, err)
			}
			return
		}
		if got := string(algorithm.AppendRecord(nil, entries)); got != record {
			t.Fatalf("got %q, want %q", got, record)
		}
		for _, e := range entries {
			survives(t, e)
		}
	})
}

// survives has every algorithm of a family do everything to a state.
func survives(t *testing.T, e entry) {
	t.Helper()
	var all []algorithm.Algorithm
	limits := append(everyday(t), window(t, "3 per 7us fixed-window"), window(t, "9 per 4503599627370495us fixed-window"))
	limits = append(limits, window(t, "3 per 7us sliding-window"), window(t, "1000000/day sliding-window"), window(t, "3 per 2251799813685248us sliding-window"))
	limits = append(append(limits, queues(t)...), queuesAtTheEdge(t)...)
	for _, l := range limits {
		if l.Algorithm().Family() == e.Family {
			all = append(all, l.Algorithm())
		}
	}
	for _, a := range all {
		for _, now := range []micros{1, 100, started, algorithm.MaxMicros - 1} {
			m := algorithm.Moment{Now: now, Start: now - 1, End: now + 1}
			a.Judge(e.State, m, 1)
			a.Level(e.State, m)
			a.Dead(e.State, now)
			a.Force(e.State, m, math.MaxInt64)
			a.Refund(e.State, m, receipt{At: now - 5, Cost: 3, Numbers: [2]int64(e.State[2:])}, 2)
			a.Refund(e.State, m, receipt{At: math.MinInt64, Cost: math.MaxInt64, Numbers: [2]int64(e.State[:2])}, math.MaxInt64)
			s, v, _ := algorithm.Step(a, e.State, m, a.Capacity())
			if again := a.Judge(s, m, 1); v.Allowed && again.Allowed {
				t.Fatalf("%T: a unit passes on %v right after the whole capacity", a, s)
			}
		}
	}
}

func TestRecordErrorsSayWhere(t *testing.T) {
	_, err := algorithm.ParseRecord(nil, "1;1m=b1,2,3")
	if err == nil || !strings.Contains(err.Error(), "3 words of family b") {
		t.Errorf("got error %v", err)
	}
}
