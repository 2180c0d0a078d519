package memstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// twins are two stores to which the same happens, but that one of them knows no short
// way.
type twins struct {
	*rapid.T
	short, long *Store
	now         weir.Micros
	limits      []*weir.Limit
	returns     []weir.Return
	collide     bool // keys of all limits have few fingerprints
	parts       int  // one less than those that keys are of
	apart       bool // one of them had to forget limits, and the other not
}

func newPair(t *rapid.T) *twins {
	t.Helper()
	p := &twins{T: t, now: 1_796_000_000_000_000, limits: asked(), parts: 2}
	c := Config{
		MaxKeys: rapid.SampledFrom([]int{64, 200, 5000}).Draw(t, "room"),
		OnFull:  rapid.SampledFrom([]OnFull{Overflow, Overflow, Refuse, Admit}).Draw(t, "full"),
		Now:     func() weir.Micros { return p.now },
	}
	if rapid.Bool().Draw(t, "reserved") {
		c.Reserved = map[string]int{"a": 10, "nobody": 15}
	}
	var err error
	if p.short, err = New(c); err != nil {
		t.Fatal(err)
	}
	if p.long, err = New(c); err != nil {
		t.Fatal(err)
	}
	return p
}

// asked are limits of all kinds, and more than the smallest store has cells for.
func asked() []*weir.Limit {
	limits := []*weir.Limit{
		weir.MustLimit("a", "3/s burst 5"),
		weir.MustLimit("a", "5/s"),
		weir.MustLimit("a", "7/min burst 40 overdraft 60"),
		weir.MustLimit("b", "1/day burst 3"),
		weir.MustLimit("q", "4/s leaky-bucket wait 1s"),
		weir.MustLimit("w", "4/min fixed-window"),
		weir.MustLimit("w", "9/min fixed-window"),
		weir.MustLimit("s", "5/min sliding-window spread"),
		weir.MustLimit("c", "9/day calendar UTC"),
		weir.MustLimit("l", "6/min sliding-log"),
		weir.MustLimit("n", "2 concurrent lease 20s"),
		weir.MustLimit("p", "3/s block 2s"),
		weir.MustLimit("p", "3/s"),
	}
	kept, err := weir.NewLimitKeeping("renamed", "b", limits[3].Spec())
	if err != nil {
		panic(err)
	}
	return append(limits, kept)
}

// take is Store.Take without the short ways.
func (s *Store) takeLong(takes []weir.Take, out []weir.Decision) (bool, weir.Micros, error) {
	if err := weir.CheckTakes(takes, out); err != nil {
		return false, 0, err
	}
	allowed, now, err := (&call{store: s}).take(takes, out)
	if err != nil && (errors.Is(err, errNoCells) || errors.Is(err, errNoNumbers)) && s.mayPrune() {
		s.prune()
		allowed, now, err = (&call{store: s}).take(takes, out)
	}
	return allowed, now, err
}

// ask does a call in both stores.
func (p *twins) ask(takes []weir.Take, length int) {
	p.Helper()
	got, want := make([]weir.Decision, length), make([]weir.Decision, length)
	for i := range got {
		got[i], want[i] = spoiled(p.T), spoiled(p.T)
	}
	wantAllowed, wantAt, wantErr := p.long.takeLong(takes, want)
	allowed, stamp, err := p.short.Take(context.Background(), takes, got)
	if p.apart = p.apart || p.short.pruned.Load() != p.long.pruned.Load(); p.apart {
		return
	}
	if allowed != wantAllowed || stamp.Now != wantAt || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		p.Fatalf("%+v:\n%t %d %v\nwant\n%t %d %v", takes, allowed, stamp.Now, err, wantAllowed, wantAt, wantErr)
	}
	if (err == nil || errors.Is(err, weir.ErrInvalid)) && !slices.Equal(got, want) {
		p.Fatalf("%+v (%v):\n%+v\nwant\n%+v", takes, err, got, want)
	}
	if err != nil {
		for i := range p.long.shards { // who is refused may have been told the time
			p.long.shards[i].latest = p.short.shards[i].latest
		}
		return
	}
	for i := range got {
		if r := got[i].Receipt; r.Cost > 0 && takes[i].Slot == (weir.SlotID{}) {
			p.returns = append(p.returns, weir.Return{Limit: takes[i].Limit, Key: takes[i].Key, Tag: takes[i].Tag, Receipt: r, Units: r.Cost})
		}
	}
}

// draw is a take, mostly one that can be right.
func (p *twins) draw(wild bool) weir.Take {
	t := weir.Take{
		Limit: p.limits[rapid.IntRange(0, len(p.limits)-1).Draw(p.T, "limit")],
		Key:   p.key(),
		Tag:   uint64(rapid.IntRange(0, 3).Draw(p.T, "tag")),
		Cost:  rapid.Int64Range(1, 6).Draw(p.T, "cost"),
		Join:  rapid.SampledFrom([]weir.Join{weir.All, weir.All, weir.Advise, weir.Alone}).Draw(p.T, "join"),
	}
	switch rapid.IntRange(0, 9).Draw(p.T, "edges") {
	case 0: // none
	case 1, 2: // of a window that no entry holds but in a block
		t.Edges = &weir.Edges{p.now - 2, p.now - 1, p.now + 1, p.now + 2}
	default: // of either of two grids
		const minute = 60_000_000
		m := p.now - p.now%minute + rapid.SampledFrom([]weir.Micros{0, 0, 0, 7_000_000}).Draw(p.T, "grid")
		t.Edges = &weir.Edges{m - 2*minute, m - minute, m, m + minute}
	}
	if rapid.IntRange(0, 9).Draw(p.T, "other") == 0 {
		t.How = rapid.SampledFrom([]weir.How{weir.Peek, weir.Partial, weir.Always, weir.Force}).Draw(p.T, "how")
	}
	if p.collide {
		t.Key = colliding(p.limits[0].ID(), t.Limit.ID(), t.Key, rapid.IntRange(0, 1).Draw(p.T, "twin"))
	}
	if t.Limit.Spec().Algorithm == weir.Concurrency {
		t.Cost, t.Slot = 1, weir.SlotID{byte(rapid.IntRange(1, 3).Draw(p.T, "holder"))}
	}
	if !wild {
		return t
	}
	switch rapid.IntRange(0, 24).Draw(p.T, "wild") {
	case 0:
		t.Limit = rapid.SampledFrom([]*weir.Limit{nil, {}, weir.MustLimit("a", "deny"), weir.MustLimit("a", "unlimited")}).Draw(p.T, "no limit")
	case 1:
		t.Join = weir.Join(rapid.IntRange(3, 255).Draw(p.T, "no join"))
	case 2, 3, 4:
		t.How = weir.How(rapid.IntRange(0, 63).Draw(p.T, "how"))
	case 5:
		t.Slot = weir.SlotID{1}
	case 6:
		t.Cost = rapid.SampledFrom([]int64{0, -1, -1 << 63, 1<<63 - 1, 1 << 53}).Draw(p.T, "cost")
	}
	return t
}

// colliding is the nth of the keys that have the fingerprint under one limit that a key
// has under another.
func colliding(of, limit [16]byte, key weir.Key, nth int) weir.Key {
	want, word := fingerprint(of, &key), binary.LittleEndian.Uint64
	const odd = 0xd6e8feb86659fd93
	mixed := (word(of[:8]) ^ word(key[8:])) * odd
	for h := uint64(0); ; h++ {
		other := key
		high := word(of[:8]) ^ word(limit[:8]) ^ word(key[8:]) ^ h
		now := (word(limit[:8]) ^ high) * odd
		binary.LittleEndian.PutUint64(other[8:], high)
		binary.LittleEndian.PutUint64(other[:8], word(key[:8])^mixed^mixed>>32^now^now>>32)
		if fingerprint(limit, &other) != want { // the part of the store is another
			continue
		}
		if nth--; nth < 0 {
			return other
		}
	}
}

// key is that of one of a few callers, in three parts of the largest store.
func (p *twins) key() weir.Key {
	return weir.Key{byte(rapid.IntRange(1, 3).Draw(p.T, "key")), byte(rapid.IntRange(0, p.parts).Draw(p.T, "part"))}
}

// calls asks for anything.
func (p *twins) calls() {
	n := rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 16, 17}).Draw(p.T, "takes")
	takes := make([]weir.Take, n)
	wild := rapid.IntRange(0, 3).Draw(p.T, "any wild") == 0
	alone := rapid.IntRange(0, 3).Draw(p.T, "alone") == 0
	one := rapid.IntRange(0, 3).Draw(p.T, "one limit") == 0
	for i := range takes {
		takes[i] = p.draw(wild)
		if alone {
			takes[i].Join = weir.Alone
		}
		if one && i > 0 {
			takes[i].Limit, takes[i].Slot = takes[0].Limit, takes[0].Slot
		}
	}
	length := n
	if wild && rapid.IntRange(0, 9).Draw(p.T, "length") == 0 {
		length = n + rapid.IntRange(-min(1, n), 1).Draw(p.T, "more")
	}
	p.ask(takes, length)
}

// flood asks for keys that nobody has asked for.
func (p *twins) flood() {
	l := p.limits[rapid.IntRange(0, len(p.limits)-1).Draw(p.T, "flooded")]
	n := rapid.IntRange(1, 80).Draw(p.T, "keys")
	first := rapid.Byte().Draw(p.T, "first")
	for i := range n {
		t := weir.Take{Limit: l, Key: weir.Key{first, byte(i), 9, 15: 1}, Tag: uint64(i), Cost: 1, Edges: &weir.Edges{p.now - 2, p.now - 1, p.now + 1, p.now + 2}}
		if l.Spec().Algorithm == weir.Concurrency {
			t.Slot = weir.SlotID{1}
		}
		p.ask([]weir.Take{t}, 1)
	}
}

// others is what happens to a store beside takes.
func (p *twins) others() {
	ctx := context.Background()
	var errs [2]error
	l, k := p.limits[rapid.IntRange(0, len(p.limits)-1).Draw(p.T, "limit")], p.key()
	var set []*weir.Limit
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(p.limits)-1), 1, 4).Draw(p.T, "set") {
		set = append(set, p.limits[i])
	}
	what := rapid.IntRange(0, 7).Draw(p.T, "what")
	var back []weir.Return
	if n := len(p.returns); n > 0 {
		i := rapid.IntRange(0, n-1).Draw(p.T, "receipt")
		back = p.returns[i : i+1]
	}
	for i, s := range []*Store{p.short, p.long} {
		switch what {
		case 0, 1:
			errs[i] = s.Reset(ctx, l, k)
		case 2, 3, 7:
			_, errs[i] = s.Return(ctx, back)
		case 4:
			errs[i] = s.ExpectOnly(map[string]int{"a": 12, "s": 8}, set...)
		case 5:
			errs[i] = s.Expect(set...)
		default:
			s.prune()
		}
	}
	if fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) {
		p.Fatalf("%d: %v, want %v", what, errs[0], errs[1])
	}
}

// turn moves the clock, to anywhere.
func (p *twins) turn() {
	switch rapid.IntRange(0, 30).Draw(p.T, "clock") {
	case 0:
		p.now += 100_000_000_000
	case 1:
		now := p.now
		p.now = rapid.SampledFrom([]weir.Micros{0, -1, algorithm.MaxMicros, 1<<63 - 1, -1 << 63}).Draw(p.T, "no time")
		p.calls()
		p.now = now
	default:
		p.now += weir.Micros(rapid.Int64Range(-100_000, rapid.SampledFrom([]int64{0, 100_000, 2_000_000}).Draw(p.T, "most")).Draw(p.T, "step"))
	}
}
