package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// A caller at his limit stays limited while new keys flood the store: his entry
// says something, so that it is not evicted.
func TestR25FloodDoesNotFreeALimitedCaller(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	l := weir.MustLimit("login", "10/h")
	victim := b.user(l, "victim")
	if got := b.admitted(20, victim); got != 10 {
		t.Fatalf("admitted %d of 20, want 10", got)
	}
	b.flood(65_536, l, "stranger")
	if got := b.admitted(20, victim); got != 0 {
		t.Errorf("after the flood %d more were admitted", got)
	}
}

func TestCapIsKept(t *testing.T) {
	for _, onFull := range []memstore.OnFull{memstore.Overflow, memstore.Admit} {
		b := open(t, memstore.Config{MaxKeys: 5000, OnFull: onFull})
		l := weir.MustLimit("login", "10/h")
		for i := range 10 {
			b.flood(10_000, l, fmt.Sprint(i, "-"))
			if st := b.Stats(); st.Keys > st.MaxKeys || st.MaxKeys > 5000 {
				t.Fatalf("%d keys in room for %d", st.Keys, st.MaxKeys)
			}
		}
	}
}

// Dead entries make room: callers that come one after the other are all exact.
func TestDeadEntriesAreEvicted(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	l := weir.MustLimit("api", "10/s")
	for i := range 20_000 {
		b.clock.now += 1000 // an entry lives 100 ms, so that some 100 are alive
		_, d := b.take(b.user(l, fmt.Sprint(i)))
		if d[0].Mode != weir.Exact {
			t.Fatalf("caller %d was decided in mode %s", i, d[0].Mode)
		}
	}
	if st := b.Stats(); st.Evicted < 19_000 {
		t.Errorf("evicted %d of 20000", st.Evicted)
	}
}

func TestNewKeysShareACellWhenFull(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64}) // one cell a limit
	l := weir.MustLimit("login", "10/h")
	b.flood(1000, l, "stranger")
	a, z := b.user(l, "a"), b.user(l, "z")
	if got := b.admitted(10, a) + b.admitted(10, z); got != 0 {
		t.Errorf("%d passed a cell that the flood has used up", got)
	}
	_, d := b.take(a)
	if d[0].Mode != weir.Overflow {
		t.Errorf("mode %s, want overflow", d[0].Mode)
	}
	if st := b.Stats(); st.Rules["login"].Overflow == 0 {
		t.Error("no overflow was counted")
	}
}

// A key that was refused in an overflow cell is not freed by getting an entry
// of its own.
func TestPromotedKeyTakesItsCellAlong(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l, long := weir.MustLimit("login", "10 per 100s"), weir.MustLimit("filler", "1/h")
	if err := b.Expect(l, long); err != nil {
		t.Fatal(err)
	}
	b.flood(1000, long, "filler") // no room left but login's share
	b.flood(1000, l, "stranger")
	caller := b.user(l, "caller")
	first := b.admitted(20, caller)
	b.clock.now += 50_000_000 // login's entries of one unit are dead now: there is room
	second := b.admitted(20, caller)
	if first+second > 15 {
		t.Errorf("%d and %d passed within 50 s, the limit allows 15", first, second)
	}
	b.clock.now += 10_000_000 // one unit more: charged, so that the key gets its entry
	if ok, _ := b.take(caller); !ok {
		t.Error("refused after its unit has come back")
	}
	if _, d := b.take(caller); d[0].Allowed || d[0].Mode != weir.Exact {
		t.Errorf("allowed %t in mode %s, want false by its own entry", d[0].Allowed, d[0].Mode)
	}
}

// The bound holds for every key whatever room comes and goes.
func TestBoundHoldsThroughOverflow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		clock := &hand{now: 1_000_000}
		s, err := memstore.New(memstore.Config{MaxKeys: 64, Now: clock.read})
		if err != nil {
			r.Fatal(err)
		}
		l := weir.MustLimit("api", rapid.SampledFrom([]string{"10/s burst 3", "5/s fixed-window", "3 per 700ms", "4/s fixed-window spread", "3 per 700ms sliding-log"}).Draw(r, "limit"))
		passed := map[string][]weir.Micros{}
		for range rapid.IntRange(50, 400).Draw(r, "steps") {
			clock.now += weir.Micros(rapid.SampledFrom([]int{0, 0, 0, 100, 10_000, 90_000, 400_000}).Draw(r, "wait"))
			name := fmt.Sprint(rapid.IntRange(0, 90).Draw(r, "caller"))
			k, tag := s.Keyer().Key(weir.Text("user", name))
			var d [1]weir.Decision
			ok, stamp, err := s.Take(context.Background(), []weir.Take{{Limit: l, Key: k, Tag: tag, Cost: 1}}, d[:])
			if err != nil {
				r.Fatal(err)
			}
			if ok {
				passed[name] = append(passed[name], stamp.Now)
			}
		}
		for name, at := range passed {
			checkBound(r, l, name, at)
		}
	})
}

// checkBound holds every window of one key's admissions against its limit.
func checkBound(r *rapid.T, l *weir.Limit, name string, at []weir.Micros) {
	period := weir.Micros(l.Spec().Period.Microseconds())
	for i := range at {
		for j := i; j < len(at); j++ {
			t, n := at[j]-at[i], int64(j-i+1)
			most := l.Capacity() + l.Spec().Count*int64(t)/int64(period)
			switch l.Spec().Algorithm {
			case weir.FixedWindow:
				most = l.Spec().Count * int64((t+period-1)/period+1)
			case weir.SlidingLog:
				most = l.Spec().Count * int64(t/period+1)
			}
			if n > most {
				r.Fatalf("%s: caller %s got %d in %d µs, at most %d", l, name, n, t, most)
			}
		}
	}
}

// A rule that has had no traffic yet has its share all the same.
func TestExpectedRuleFindsItsShareAfterAFlood(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	attacked, quiet := weir.MustLimit("login", "10/day"), weir.MustLimit("api", "10/day")
	if err := b.Expect(attacked, quiet, weir.MustLimit("free", "unlimited")); err != nil {
		t.Fatal(err)
	}
	b.flood(50_000, attacked, "stranger")
	if _, d := b.take(b.user(quiet, "first")); d[0].Mode != weir.Exact {
		t.Errorf("decided in mode %s", d[0].Mode)
	}
}

func TestExpectRefusesMoreLimitsThanThereAreCells(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	limits := make([]*weir.Limit, 9)
	for i := range limits {
		limits[i] = weir.MustLimit(fmt.Sprint("rule", i), "1/day")
	}
	if err := b.Expect(limits...); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("nine limits, eight cells: error %v", err)
	}
	if err := b.Expect(limits[:6]...); err != nil {
		t.Error(err)
	}
	if err := b.Expect(limits[6:8]...); err != nil {
		t.Errorf("the eight that there are cells for: %v", err)
	}
	for i := range 8 {
		_, known := b.Stats().Rules[fmt.Sprint("rule", i)]
		if !known {
			t.Errorf("rule %d was expected and forgotten", i)
		}
	}
}

// More room never serves fewer limits.
func TestMoreKeysServeNoFewerLimits(t *testing.T) {
	limits := make([]*weir.Limit, 2100)
	for i := range limits {
		limits[i] = weir.MustLimit(fmt.Sprint("rule", i), "1/day")
	}
	before := 0
	for _, keys := range []int{64, 100, 1000, 1030, 2048, 10_000, 65_536, 100_000, 1_000_000} {
		b := open(t, memstore.Config{MaxKeys: keys})
		n := 0
		for n < len(limits) && b.Expect(limits[n]) == nil {
			n++
		}
		if n < before || n < min(keys/8, 128) {
			t.Errorf("%d keys serve %d limits, fewer keys %d", keys, n, before)
		}
		before = n
	}
}

// One rule's flood leaves another rule's callers their own entries.
func TestFloodOfOneRuleLeavesTheOthersTheirShare(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	attacked, quiet := weir.MustLimit("login", "10/day"), weir.MustLimit("api", "10/day")
	b.take(b.user(quiet, "first")) // the rule is known from now on
	b.flood(50_000, attacked, "stranger")
	for i := range 1400 { // of some 2180 in eight shards
		_, d := b.take(b.user(quiet, fmt.Sprint(i)))
		if d[0].Mode != weir.Exact {
			t.Fatalf("caller %d of the quiet rule was decided in mode %s", i, d[0].Mode)
		}
	}
}

func TestReservedRoomIsKeptForItsRule(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000, Reserved: map[string]int{"api": 4000}})
	small, other, api := weir.MustLimit("small", "10/day"), weir.MustLimit("other", "10/day"), weir.MustLimit("api", "10/day")
	for _, l := range []*weir.Limit{small, other, api} {
		b.take(b.user(l, "first"))
	}
	b.flood(20_000, small, "s")
	b.flood(20_000, other, "o")
	b.flood(20_000, api, "a")
	if got := b.Stats().Rules["api"].Keys; got < 3500 {
		t.Errorf("the rule holds %d of the 4000 keys reserved for it", got)
	}
}

func TestOnFullRefuse(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64, OnFull: memstore.Refuse})
	l := weir.MustLimit("login", "10/h")
	held := b.user(l, "held")
	b.take(held)
	refused := 0
	for i := range 200 {
		ok, d := b.take(b.user(l, fmt.Sprint(i)))
		if ok {
			continue
		}
		refused++
		if d[0].Mode != weir.Closed || d[0].Never || d[0].RetryAfter != 1_000_000 || d[0].Remaining != 0 || d[0].Receipt.Cost != 0 {
			t.Fatalf("decision %+v", d[0])
		}
	}
	if refused == 0 {
		t.Error("no new key was refused")
	}
	if ok, _ := b.take(held); !ok {
		t.Error("a key that has its entry was refused")
	}
	shadow := b.user(l, "shadow")
	shadow.Join = weir.Advise
	if ok, d := b.take(held, shadow); !ok || d[1].Allowed {
		t.Error("a shadow take without room refused its call")
	}
}

// A caller who is limited is not freed by filling the store, whatever the rules
// choose for a store that fails: to have no room is no failure.
func TestFullStoreIsNoWayAroundAnExhaustedLimit(t *testing.T) {
	for _, onFull := range []memstore.OnFull{memstore.Overflow, memstore.Refuse, memstore.Admit} {
		b := open(t, memstore.Config{MaxKeys: 64, OnFull: onFull})
		address, name := weir.MustLimit("address", "5/day"), weir.MustLimit("name", "5/day")
		victim := b.user(address, "1.2.3.4")
		b.admitted(5, victim)
		b.flood(300, name, "flood")
		for i := range 20 {
			if ok, _ := b.take(victim, b.user(name, fmt.Sprint("invented", i))); ok {
				t.Fatalf("on full %d: an exhausted caller passed with a name that found no room", onFull)
			}
		}
	}
}

// What passed uncounted cannot be given back: there is no receipt for it.
func TestUncountedTakesHaveNoReceipt(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64, OnFull: memstore.Admit})
	l := weir.MustLimit("login", "10/day")
	b.flood(200, l, "stranger")
	late := b.user(l, "late")
	late.Cost = 10
	if ok, d := b.take(late); !ok || d[0].Receipt != (weir.Receipt{}) {
		t.Errorf("allowed %t with receipt %+v", ok, d[0].Receipt)
	}
}

// Other callers' plans do not free who shares a cell: each plan has its own.
func TestAFasterPlanInTheCellFreesNobody(t *testing.T) {
	f := func(slow, fast string, most int) {
		t.Helper()
		b := open(t, memstore.Config{MaxKeys: 64})
		free, pro := weir.MustLimit("api", slow), weir.MustLimit("api", fast)
		b.flood(200, free, "flood")
		passed := 0
		for range 10 {
			passed += b.admitted(200, b.user(free, "bob"))
			b.take(b.user(pro, "alice"))
			b.clock.now += 60_000_000
		}
		if passed > most {
			t.Errorf("%s: %d passed in ten minutes, beside %s; at most %d", slow, passed, fast, most)
		}
	}
	f("10/day", "1000/s", 10)
	f("100/h fixed-window", "200/min fixed-window", 200)
}

// Who goes to and fro between two plans has at most what both allow.
func TestAlternatingWindowsForgetNothing(t *testing.T) {
	b := open(t, memstore.Config{})
	hour, minute := weir.MustLimit("api", "100/h fixed-window"), weir.MustLimit("api", "10/min fixed-window")
	b.clock.now = 3_600_000_000 * 1000
	passed := 0
	for range 60 {
		passed += b.admitted(120, b.user(hour, "u")) + b.admitted(20, b.user(minute, "u"))
		b.clock.now += 60_000_000
	}
	if passed != 100+60*10 {
		t.Errorf("%d passed in an hour, the two limits allow 100 and 600", passed)
	}
}

// A refund of what is no longer there goes to nobody else.
func TestRefundAfterResetFreesNoStranger(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "10/day")
	own := b.user(l, "own")
	own.Cost = 10
	_, paid := b.take(own)
	b.flood(200, l, "stranger")
	if err := b.Reset(context.Background(), l, own.Key); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		_, err := b.Return(context.Background(), []weir.Return{{Limit: l, Key: own.Key, Tag: own.Tag, Receipt: paid[0].Receipt, Units: 10}})
		if err != nil {
			t.Fatal(err)
		}
		if ok, d := b.take(b.user(l, fmt.Sprint("x", i))); ok && d[0].Mode == weir.Overflow {
			t.Fatal("a stranger in the cell was freed by it")
		}
	}
}

// A key that was reset starts anew, also where the cell that it once shared is
// still in use.
func TestResetKeyStartsAnewBesideItsCell(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "10/day")
	own := b.user(l, "own")
	b.admitted(10, own)
	b.flood(200, l, "stranger")
	if err := b.Reset(context.Background(), l, own.Key); err != nil {
		t.Fatal(err)
	}
	peek := own
	peek.How = weir.Peek
	b.take(peek)
	b.flood(50, l, "more") // a sweep or two
	if got := b.admitted(20, own); got != 10 {
		t.Errorf("%d of 10 passed after the reset", got)
	}
}

// Looking for limits to forget stops everything: whoever brings one limit more
// again and again causes it once a second, not each time.
func TestLookForLimitsToForgetIsRare(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64}) // cells for eight limits
	n := 0
	next := func() error {
		n++
		var d [1]weir.Decision
		_, _, err := b.Take(context.Background(), []weir.Take{b.user(weir.MustLimit(fmt.Sprint("rule", n), "1/day"), "u")}, d[:])
		return err
	}
	for range 16 { // eight, and eight more after a look
		if err := next(); err != nil {
			t.Fatalf("limit %d: %v", n, err)
		}
	}
	if err := next(); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("looked twice at one instant: %v", err)
	}
	b.clock.now += 600_000
	if err := next(); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("looked again after 0.6 s: %v", err)
	}
	b.clock.now += 600_000
	if err := next(); err != nil {
		t.Errorf("did not look again after 1.2 s: %v", err)
	}
}

// Versions of a limit come and go while the callers stay: the old ones make
// room, and what a caller has used stays his.
func TestManyVersionsOfALimitDoNotExhaustTheStore(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	for i := range 50 {
		l := weir.MustLimit("api", fmt.Sprint(100+i, "/day"))
		if err := b.Expect(l); err != nil {
			t.Fatalf("version %d: %v", i, err)
		}
		if _, d := b.take(b.user(l, "u"), b.user(l, "v")); d[0].Remaining != int64(100+i-i-1) {
			t.Fatalf("version %d: %d left, the caller has used %d", i, d[0].Remaining, i+1)
		}
		b.clock.now += 1_100_000
	}
}

// A limit that was expected is not forgotten for others that come and go.
func TestExpectedLimitKeepsItsCells(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	expected := weir.MustLimit("expected", "1/day")
	if err := b.Expect(expected); err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		b.take(b.user(weir.MustLimit(fmt.Sprint("other", i), "1/day"), "u"))
	}
	b.flood(200, weir.MustLimit("other0", "1/day"), "f")
	b.take(b.user(expected, "u"))
}

// A settlement for which there is no room is forgiven, and refuses nobody.
func TestSettlementWithoutRoomIsForgiven(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64, OnFull: memstore.Refuse})
	l := weir.MustLimit("login", "10/h")
	known := b.user(l, "known")
	b.take(known)
	b.flood(1000, l, "f")
	settle := b.user(l, "new")
	settle.How, settle.Cost = weir.Force, 3
	ok, d := b.take(known, settle)
	if !ok || d[0].Granted != 1 || d[1].Granted != 0 || d[1].Receipt.Cost != 0 {
		t.Errorf("allowed %t: %+v", ok, d)
	}
}

// A clock that is out of its range for a moment spoils nothing, also when the
// store looks for limits to forget.
func TestClockOutOfRangeWhileForgettingLimits(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	for i := range 8 {
		b.take(b.user(weir.MustLimit(fmt.Sprint("rule", i), "1/day"), "u"))
	}
	right := b.clock.now
	b.clock.now = 1 << 53
	var d [1]weir.Decision
	if _, _, err := b.Take(context.Background(), []weir.Take{b.user(weir.MustLimit("ninth", "1/day"), "u")}, d[:]); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("error %v", err)
	}
	b.clock.now = right
	if ok, _ := b.take(b.user(weir.MustLimit("rule0", "1/day"), "u")); ok {
		t.Error("the state was lost")
	}
}

// Once a flood is over its cells hold nobody back from a reset.
func TestResetAfterAFloodIsOver(t *testing.T) {
	for _, text := range []string{"10/s", "10/min sliding-log"} {
		b := open(t, memstore.Config{MaxKeys: 64})
		l := weir.MustLimit("login", text)
		b.flood(1000, l, "f")
		never := b.user(l, "never seen").Key
		if err := b.Reset(context.Background(), l, never); !errors.Is(err, weir.ErrNotApplied) {
			t.Errorf("%s: in the flood: %v", text, err)
		}
		b.clock.now += 3_600_000_000
		if err := b.Reset(context.Background(), l, never); err != nil {
			t.Errorf("%s: an hour after the flood: %v", text, err)
		}
	}
}

// What is charged to a shared cell has no receipt: it could be given back to an
// entry that never bore it.
func TestChargesToACellHaveNoReceipt(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "10/s")
	b.flood(100, weir.MustLimit("filler", "1/day"), "f")
	for i := range 100 {
		ok, d := b.take(b.user(l, fmt.Sprint(i)))
		if ok && d[0].Mode == weir.Overflow && d[0].Receipt.Cost != 0 {
			t.Fatalf("receipt %+v", d[0].Receipt)
		}
	}
}

// Rules that were expected keep their share whatever limits come and go.
func TestExpectedRulesOutliveLimitsThatComeAndGo(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	login, flood := weir.MustLimit("login", "5 per 10d"), weir.MustLimit("flood", "5 per 10d")
	if err := b.Expect(login, flood); err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		b.take(b.user(weir.MustLimit(fmt.Sprint("take/", i), "1/s"), "z"))
		b.clock.now += 2_000_000
	}
	b.flood(10_000, flood, "f")
	for i := range 100 {
		if _, d := b.take(b.user(login, fmt.Sprint(i))); d[0].Mode != weir.Exact {
			t.Fatalf("caller %d of an expected rule was decided in mode %s", i, d[0].Mode)
		}
	}
}

// Room that dead entries take up is found, wherever they stand.
func TestDeadEntriesAreFoundAmongTheLiving(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	long, short := weir.MustLimit("long", "1/day"), weir.MustLimit("short", "1/s")
	b.flood(4000, long, "l")
	b.flood(4000, short, "s")
	b.clock.now += 2_000_000
	for i := range 2000 {
		if _, d := b.take(b.user(short, fmt.Sprint("new", i))); d[0].Mode != weir.Exact {
			t.Fatalf("caller %d was decided in mode %s while 4000 entries were dead", i, d[0].Mode)
		}
	}
}

func TestOnFullAdmit(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64, OnFull: memstore.Admit})
	l := weir.MustLimit("login", "1/h")
	b.flood(200, l, "stranger")
	for range 5 {
		ok, d := b.take(b.user(l, "late"))
		if !ok || d[0].Mode != weir.Open {
			t.Fatalf("allowed %t in mode %s, want true in mode open", ok, d[0].Mode)
		}
	}
}

// Two keys of one call that fall into one overflow cell are judged together.
func TestKeysOfOneCellAreJudgedTogether(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "3/h")
	b.flood(1000, weir.MustLimit("filler", "1/h"), "f")
	b.flood(200, weir.MustLimit("filler2", "1/h"), "f")
	b.flood(200, l, "stranger")
	b.clock.now += 3_600_000_000 // everything is dead, and nothing swept
	b.flood(200, weir.MustLimit("filler", "1/h"), "g")
	b.flood(200, weir.MustLimit("filler2", "1/h"), "g")
	b.flood(100, l, "again") // login's share is full of live entries, its cell used up
	b.clock.now += 1_200_000_000
	x, y := b.user(l, "x"), b.user(l, "y")
	x.Cost, y.Cost = 2, 2 // each fits an empty cell, both do not
	ok, d := b.take(x, y)
	if ok || d[0].Mode != weir.Overflow {
		t.Errorf("allowed %t in mode %s", ok, d[0].Mode)
	}
}

func TestResetInACellIsRefused(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "10/h")
	own := b.user(l, "own")
	b.admitted(10, own)
	b.flood(1000, l, "stranger")
	if err := b.Reset(context.Background(), l, own.Key); err != nil {
		t.Errorf("reset of a key with its entry: %v", err)
	}
	shared := b.user(l, "shared")
	if err := b.Reset(context.Background(), l, shared.Key); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("reset of a key that shares a cell: %v", err)
	}
}

// A caller may bring limits of its own: their number is bounded, and limits
// that hold nothing any more make room for new ones.
func TestLimitsAreBoundedAndForgotten(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	limits := func(prefix string, n int) (errs int) {
		for i := range n {
			l := weir.MustLimit(fmt.Sprint(prefix, i), "1/s")
			var d [1]weir.Decision
			if _, _, err := b.Take(context.Background(), []weir.Take{b.user(l, "u")}, d[:]); err != nil {
				if !errors.Is(err, weir.ErrNotApplied) {
					t.Fatal(err)
				}
				errs++
			}
		}
		return errs
	}
	if got := limits("a", 20); got != 4 { // eight, and eight more in the place of those whose cells are empty
		t.Errorf("%d of 20 limits found no cell, want 4", got)
	}
	b.clock.now += 2_000_000
	if got := limits("b", 8); got != 0 {
		t.Errorf("%d of 8 limits found no cell after the first had died", got)
	}
}
