package storetest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weirhq/weir"
)

// RandomTape makes a tape of so many events. The same seed makes the same tape,
// in every run and on every machine. Its clock jumps both ways, it asks for odd
// costs in every join and how, changes the numbers of limits in use, and gives
// receipts back late, out of order, twice or to the wrong state; many of its
// events stand exactly at an instant when something changes.
func RandomTape(seed uint64, events int) *Tape {
	c := newComposer(rand.New(rand.NewPCG(seed, 1)))
	for len(c.tape.events) < events {
		c.compose()
	}
	return c.tape
}

// A cast is limits that go well on one tape: their times are of one size. The
// limits of a family have one name, and so one state for each key.
type cast struct {
	families map[string][]string
	unit     weir.Micros // a step that changes something
	back     weir.Micros // the furthest that the clock may run back
}

// casts are all of them. The furthest way back is ten years, but for rates so
// high that what would be owed could not be counted in 62 bits.
func casts() []cast {
	const tenYears = 10 * 365 * 86_400_000_000
	return []cast{
		{unit: 4, back: tenYears, families: map[string][]string{
			"b": {"3 per 7us burst 4", "1 per 5us burst 2", "2 per 3us burst 9 overdraft 9", "5 per 11us", "1 per 1us burst 7"},
			"p": {"3 per 7us burst 4 block 5us", "2 per 3us block 2us x 3 max 40us", "3 per 7us fixed-window block 1us x 2 max 9us", "5 per 11us"},
			"w": {"3 per 7us fixed-window", "5 per 7us fixed-window spread", "2 per 10us fixed-window overdraft 3", "6 per 3us fixed-window"},
			"c": {"4/day calendar UTC", "2/day calendar UTC", "3 per 9us fixed-window"},
			"q": {"3 per 7us leaky-bucket queue 4", "1 per 5us leaky-bucket wait 9us", "2 per 3us leaky-bucket wait 20us queue 3 overdraft 9", "5 per 11us leaky-bucket wait 17us", "1 per 1us leaky-bucket queue 7", "4 per 1us leaky-bucket wait 2us"},
			"s": {"3 per 7us sliding-window", "5 per 7us sliding-window overdraft 7", "2 per 7us sliding-window spread", "4 per 1us sliding-window"},
			"n": {"2 concurrent lease 1ms", "3 concurrent lease 2ms"},
			"l": {"3 per 7us sliding-log", "9 per 7us sliding-log", "2 per 7us sliding-log overdraft 5", "4 per 1us sliding-log"},
		}},
		{unit: 100_000, back: tenYears, families: map[string][]string{
			"b": {"10/s", "10/s burst 3", "1/s burst 10", "1000/s", "7/s", "999983/h burst 50", "100/min burst 7 overdraft 20", "5/s burst 5"},
			"p": {"10/s block 500ms", "5/s burst 2 block 100ms x 2 max 3s", "3/s", "7/s burst 3 block 1us"},
			"w": {"5/s fixed-window", "3/s fixed-window", "10/min fixed-window", "20/min fixed-window spread"},
			"c": {"8/day calendar UTC", "3/day calendar UTC overdraft 4", "6/s fixed-window"},
			"q": {"10/s leaky-bucket wait 1s", "10/s leaky-bucket queue 3", "1/s leaky-bucket wait 9s queue 10", "1000/s leaky-bucket wait 1s", "7/s leaky-bucket queue 6", "999983/h leaky-bucket wait 150ms", "5/s leaky-bucket wait 1us"},
			"l": {"10/s sliding-log", "3/s sliding-log", "40/s sliding-log overdraft 90", "7/min sliding-log overdraft 9"},
			"n": {"3 concurrent lease 250ms", "1 concurrent lease 400ms", "5 concurrent lease 100ms", "2 concurrent"},
			"s": {"10/s sliding-window", "3/s sliding-window", "1000000000/s sliding-window", "20/s sliding-window spread", "7/min sliding-window overdraft 9"},
		}},
		{unit: 3_600_000_000, back: tenYears, families: map[string][]string{
			"b": {"1000000/day burst 100", "10000 per 30d burst 100", "10/day", "30/day burst 5", "1/day burst 52124", "2 per 30d"},
			"p": {"30/day burst 5 block 1h x 2 max 1d", "10/day block 10m", "12/h sliding-log block 1d"},
			"w": {"100/day fixed-window", "7/week fixed-window spread", "12/h fixed-window"},
			"c": {"5/day calendar UTC", "20/week calendar UTC", "50/month calendar UTC", "5/day fixed-window"},
			"q": {"1000000/day leaky-bucket wait 10s", "30/day leaky-bucket queue 5 overdraft 50", "10/day leaky-bucket wait 12h", "2 per 30d leaky-bucket wait 7d"},
			"l": {"60/day sliding-log", "7/day sliding-log overdraft 99", "12/h sliding-log"},
			"n": {"3 concurrent lease 1h", "9 concurrent lease 4h", "2 concurrent lease 12h", "1 concurrent lease 1ms"},
			"s": {"100/day sliding-window", "1000000/day sliding-window", "7/day sliding-window overdraft 1000000000", "12/h sliding-window spread"},
		}},
		{unit: 1, back: 1 << 40, families: map[string][]string{
			"b": {"1000000000/s", "1000000 per 1us", "999983 per 1us burst 1000000", "999983/h burst 9000000000", "1000000007 per 1009us burst 1000000"},
			"w": {"1000000000000 per 3us fixed-window", "4503599627370495 per 5us fixed-window"},
			"q": {"1000000000/s leaky-bucket wait 3us", "1000000 per 1us leaky-bucket queue 1000000", "999983/h leaky-bucket queue 9000000", "1000000007 per 1009us leaky-bucket wait 1us"},
			"s": {"1000000000000 per 10ms sliding-window", "9007199254740 per 10ms sliding-window", "1801439850948198 per 5us sliding-window", "3 per 5us sliding-window"},
		}},
	}
}

// composer makes a tape event by event. It asks an oracle what a store would
// answer, to know of receipts, of what is left, and of instants worth a visit.
type composer struct {
	rng      *rand.Rand
	cast     cast
	tape     *Tape
	families [][]int // the limits of each family, by number
	serving  []int   // which of them is in force
	keys     int

	oracle       *Oracle
	now, highest weir.Micros
	soon         []weir.Micros  // instants at which something changes
	left         map[cell]int64 // what was left of a state when last seen
	paid         []payment
}

// A payment is a charge whose receipt may come back: as if all of it did.
type payment struct {
	giveBack
	receipt weir.Receipt
}

func newComposer(rng *rand.Rand) *composer {
	all := casts()
	c := &composer{rng: rng, cast: all[rng.IntN(len(all))], tape: &Tape{}, keys: 1 + rng.IntN(3), oracle: NewOracle(), left: map[cell]int64{}}
	for _, name := range []string{"b", "w", "c", "s", "q", "l", "n", "p"} {
		var family []int
		for _, text := range c.cast.families[name] {
			if l, err := weir.ParseLimit(name, text); err == nil {
				family = append(family, len(c.tape.limits))
				c.tape.limits = append(c.tape.limits, l)
			}
		}
		if family != nil {
			c.families, c.serving = append(c.families, family), append(c.serving, 0)
		}
	}
	switch rng.IntN(10) {
	case 0:
		c.now = 1 + c.span(20)
	case 1:
		c.now = mostNow - c.span(1_000_000)
	default:
		c.now = 1_796_022_366_123_456 + c.span(1_000_000_000_000)
	}
	c.highest = c.now
	return c
}

// mostNow is the last instant that there is.
const mostNow = weir.Micros(1<<52 - 1)

// chance is true so many times in a hundred.
func (c *composer) chance(percent int) bool { return c.rng.IntN(100) < percent }

// span is a random span from 0 to most.
func (c *composer) span(most weir.Micros) weir.Micros {
	return weir.Micros(c.rng.Int64N(int64(most) + 1))
}

// compose adds an event and tells the oracle.
func (c *composer) compose() {
	c.turn()
	e := event{id: len(c.tape.events) + 1, at: c.now, verb: verbTake}
	switch n := c.rng.IntN(100); {
	case n < 3:
		e.verb, e.reset = verbReset, cell{c.limit(c.family()), c.rng.IntN(c.keys)}
		k, _ := key(e.reset.key)
		c.oracle.Reset(c.tape.limits[e.reset.limit], k)
	case n < 16 && len(c.paid) > 0:
		e.verb = verbReturn
		for range 1 + c.rng.IntN(2)*c.rng.IntN(3) {
			p := c.giveBack()
			e.returns = append(e.returns, p.giveBack)
			_ = c.oracle.Return(c.now, []weir.Return{c.tape.giveBack(p.giveBack, p.receipt)})
		}
	default:
		for range c.howMany() {
			e.takes = append(e.takes, c.ask(e.takes))
		}
		c.hear(e)
	}
	c.tape.events = append(c.tape.events, e)
}

// turn moves the clock.
func (c *composer) turn() {
	switch n := c.rng.IntN(100); {
	case n < 30: // stands
	case n < 45:
		c.now += 1 + c.span(2)
	case n < 65 && len(c.soon) > 0:
		c.now = c.soon[c.rng.IntN(len(c.soon))]
	case n < 80:
		c.now += c.span(4 * c.cast.unit)
	case n < 86:
		c.now += c.span(100 * c.cast.unit)
	case n < 93:
		c.now -= c.span(4 * c.cast.unit)
	case n < 96:
		c.now -= c.span(100 * c.cast.unit)
	case n < 97:
		c.now += c.span(2000 * c.cast.unit)
	case n < 98:
		c.now -= c.span(c.cast.back)
	}
	c.now = max(c.now, c.highest-c.cast.back, 1)
	c.now = min(c.now, mostNow)
	c.highest = max(c.highest, c.now)
}

func (c *composer) family() int { return c.rng.IntN(len(c.families)) }

// limit gives the number of the limit of a family that is in force, after a
// change now and then; once in a while another one that is not.
func (c *composer) limit(family int) int {
	variants := c.families[family]
	if c.chance(10) {
		c.serving[family] = c.rng.IntN(len(variants))
	}
	if c.chance(1) {
		return variants[c.rng.IntN(len(variants))]
	}
	return variants[c.serving[family]]
}

// howMany is the number of takes of a call.
func (c *composer) howMany() int {
	switch n := c.rng.IntN(200); {
	case n < 110:
		return 1
	case n < 180:
		return 2 + c.rng.IntN(3)
	case n < 197:
		return 5 + c.rng.IntN(weir.MaxTakes-4)
	case n < 199:
		return 0
	}
	return weir.MaxTakes + 1
}

// ask makes one take, beside others of its call.
func (c *composer) ask(beside []ask) ask {
	a := ask{cell: cell{c.limit(c.family()), c.rng.IntN(c.keys)}, join: c.join(), how: c.how()}
	a.cost = c.cost(a)
	switch s := c.tape.limits[a.limit].Spec(); {
	case s.Zone != "":
		a.edges = c.edges()
	case s.Algorithm == weir.Concurrency:
		c.name(&a, beside)
	case c.rng.IntN(400) == 0:
		a.slot = 1
	}
	return a
}

// name makes a take one of a slot, as a rule one that is right: for one of few
// holders, of whom each asks once in a call.
func (c *composer) name(a *ask, beside []ask) {
	if c.chance(98) {
		a.how &= weir.Peek | weir.Partial // and no strikes: a limit of slots has no block
		a.cost = 1
	}
	for range 1 + c.rng.IntN(20) {
		a.slot = 1 + c.rng.Uint64N(12)
		if !slices.ContainsFunc(beside, func(b ask) bool { return b.cell == a.cell && b.slot == a.slot }) {
			break
		}
	}
	if a.how&weir.Peek != 0 && c.chance(50) || c.rng.IntN(400) == 0 {
		a.slot, a.cost = 0, c.rng.Int64N(2)
	}
}

func (c *composer) join() weir.Join {
	switch n := c.rng.IntN(200); {
	case n < 140:
		return weir.All
	case n < 170:
		return weir.Advise
	}
	return weir.Alone
}

func (c *composer) how() weir.How {
	switch n := c.rng.IntN(200); {
	case n < 124:
		return 0
	case n < 142:
		return weir.Peek
	case n < 148:
		return weir.Peek | weir.Strike
	case n < 164:
		return weir.Partial
	case n < 172:
		return weir.Peek | weir.Partial
	case n < 182:
		return weir.Always
	case n < 199:
		return weir.Force
	}
	return weir.How(c.rng.IntN(32))
}

// cost is small as a rule, and often just what is left, or one beside it.
func (c *composer) cost(a ask) int64 {
	capacity := c.tape.limits[a.limit].Capacity()
	switch n := c.rng.IntN(200); {
	case n < 80:
		return 1
	case n < 110:
		return 1 + c.rng.Int64N(min(capacity, 10))
	case n < 130:
		return 1 + c.rng.Int64N(capacity)
	case n < 175:
		return max(1, c.left[a.cell]+c.rng.Int64N(3)-1)
	case n < 188:
		return capacity
	case n < 196:
		return capacity + 1
	case n < 198 || a.how&weir.Peek != 0:
		return c.rng.Int64N(2) * math.MaxInt64
	}
	return -c.rng.Int64N(3)
}

// edges are those around now: three windows of one length, which is not that of
// any calendar. Now and then they are shifted, stale or missing.
func (c *composer) edges() *weir.Edges {
	length := 10 * c.cast.unit
	n := c.rng.IntN(200)
	if n < 2 {
		return nil
	}
	first := c.now - (c.now % length) - length
	switch {
	case n < 8:
		first += 3 * length
	case n < 14:
		first -= 3 * length
	case n < 24:
		first -= length / 3
	}
	return &weir.Edges{first, first + length, first + 2*length, first + 3*length}
}

// giveBack makes one return of what was charged before.
func (c *composer) giveBack() payment {
	i := c.rng.IntN(len(c.paid))
	if c.chance(60) {
		i = max(0, len(c.paid)-1-c.rng.IntN(8))
	}
	p := c.paid[i]
	if c.chance(85) && len(c.paid) > 1 {
		c.paid = append(c.paid[:i], c.paid[i+1:]...)
	}
	switch n := c.rng.IntN(100); {
	case p.slot != 0:
		p.renew = n < 30
	case n < 2:
		p.units += c.rng.Int64N(2)*2 - 1
	case n < 3:
		p.units = 0
	case n < 50:
		p.units = 1 + c.rng.Int64N(p.units)
	}
	if c.chance(8) {
		p.cell = cell{c.limit(c.family()), c.rng.IntN(c.keys)}
	}
	return p
}

// hear asks the oracle what comes of a take.
func (c *composer) hear(e event) {
	var takes []weir.Take
	for _, a := range e.takes {
		takes = append(takes, c.tape.take(a))
	}
	_, out, err := c.oracle.Take(c.now, takes)
	if err != nil {
		return
	}
	for i, d := range out {
		c.left[e.takes[i].cell] = d.Remaining
		if d.Receipt.Cost > 0 {
			p := payment{giveBack{cell: e.takes[i].cell, units: d.Receipt.Cost, event: e.id, take: i}, d.Receipt}
			if slot := e.takes[i].slot; slot != 0 {
				p = payment{giveBack: giveBack{cell: e.takes[i].cell, slot: slot}}
			}
			c.paid = append(c.paid, p)
		}
		for _, wait := range []weir.Micros{d.RetryAfter, d.ResetAfter, d.Delay} {
			if wait > 0 {
				c.soon = append(c.soon, c.now+wait, c.now+wait-1)
			}
		}
	}
	c.paid = c.paid[max(0, len(c.paid)-200):]
	c.soon = c.soon[max(0, len(c.soon)-12):]
}
