package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// testSizes are those of this package's own tests.
func testSizes() sizes { return sizesOf(os.Getenv("WEIR_LONG") == "1", testing.Short()) }

// The tapes that are kept agree with the oracle on both stores.
func TestKeptTapes(t *testing.T) {
	names, err := filepath.Glob("testdata/*.tape")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d tapes, error %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tape, err := ParseTape(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		clock := NewClock(began)
		if err := tape.Play(newPlain(clock.Now, none), clock); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		clock = NewClock(1)
		s, err := memstore.New(memstore.Config{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		if err := tape.Play(s, clock); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTapeText(t *testing.T) {
	for seed := range uint64(20) {
		text := RandomTape(seed, 300).String()
		tape, err := ParseTape(text)
		if err != nil {
			t.Fatal(err)
		}
		if tape.String() != text {
			t.Fatalf("seed %d: the tape is another one when it has been written and read", seed)
		}
		if RandomTape(seed, 300).String() != text {
			t.Fatalf("seed %d makes another tape the second time", seed)
		}
	}
}

func TestParseTapeRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := ParseTape("limit 0 api 5/s\n\n# a comment\n" + text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 4") {
			t.Errorf("%q: got error %v, want one of line 4 with %q", text, err, want)
		}
	}
	f("limit 1 api", "a number, a name and a text")
	f("limit x api 5/s", "limit number")
	f("limit -1 api 5/s", "limit number")
	f("limit 1000 api 5/s", "limit number")
	f("limit 1 api 5/parsec", "unknown unit")
	f("limit 1 api deny", "no states")
	f("1 @1", "an instant and a verb")
	f("x @1 take", "invalid syntax")
	f("1 @x take", "invalid syntax")
	f("1 @1 reset", "reset of nothing")
	f("1 @1 reset 0#0 1", "reset")
	f("1 @1 reset 1#0", "no limit 1")
	f("1 @1 take 0", "state")
	f("1 @1 take 0#0", "take")
	f("1 @1 take 0#0x 1", "state")
	f("1 @1 take 0#0 1 edges 1,2,3,4,5", "edges")
	f("1 @1 return 0#0 1 of 1.0.0", "return")
	f("1 @1 take 0#0 x", "invalid syntax")
	f("1 @1 take 0#0 1 sideways", "unknown word")
	f("1 @1 take 0#0 1 edges", "unknown word")
	f("1 @1 take 0#0 1 edges 1,2,3", "edges")
	f("1 @1 take 7#0 1", "no limit 7")
	f("1 @1 take 0#0 1 | ", "take of nothing")
	f("1 @1 return 0#0 1", "return")
	f("1 @1 return 0#0 1 of 1", "return")
	f("1 @1 return 3#0 1 of 1.0", "no limit 3")
	f("1 @1 rewind 0#0", "rewind")
	f("1 @1 take 0#0 1 slot", "unknown word")
	f("1 @1 take 0#0 1 slot x", "slot")
	f("1 @1 take 0#0 1 slot 0", "slot")
	f("1 @1 return 0#0 slot", "return")
	f("1 @1 return 0#0 slot 0", "return")
	f("1 @1 return 0#0 slot 1.5", "return")
	f("1 @1 return 0#0 keep 1", "return")
}

// What is read is written again as what is read the same.
func FuzzParseTape(f *testing.F) {
	f.Add(RandomTape(1, 20).String())
	f.Add("limit 3 n 2 concurrent\n1 @1 take 3#0 1 slot 7 | 3#0 1 slot 8 peek\n2 @5 return 3#0 renew 7 | 3#0 slot 18446744073709551615")
	f.Add("limit 0 api 5/s burst 5\n1 @1 take 0#0 1 all | 0#0 2 peek partial edges 1,2,3,4\n2 @+5 return 0#0 1 of 1.0\n3 @-3 reset 0#01\n4 @1 take")
	f.Fuzz(func(t *testing.T, text string) {
		tape, err := ParseTape(text)
		if err != nil {
			return
		}
		again, err := ParseTape(tape.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, tape)
		}
		if again.String() != tape.String() {
			t.Fatalf("got\n%s\nwant\n%s", again, tape)
		}
	})
}

// Every limit that random tapes are cast with can be built.
func TestCasts(t *testing.T) {
	for _, c := range casts() {
		for name, family := range c.families {
			for _, text := range family {
				if _, err := weir.ParseLimit(name, text); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}

// A tape that shows a bug is made as short as a reader can take in.
func TestShrink(t *testing.T) {
	f := func(b bug, events int) {
		t.Helper()
		for seed := range uint64(10) {
			tape := RandomTape(seed, 300)
			err := tape.check(func(t *Tape) (int, error) {
				clock := NewClock(began)
				return t.play(newPlain(clock.Now, b), clock)
			})
			if err == nil {
				continue
			}
			_, text, _ := strings.Cut(err.Error(), "shows it:\n")
			short, err := ParseTape(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(short.events) > events {
				t.Errorf("bug %d: a tape of %d events is left, want at most %d:\n%s", b, len(short.events), events, text)
			}
			return
		}
		t.Errorf("bug %d: no tape shows it", b)
	}
	f(chargesRefused, 3)
	f(chargesHalf, 3)
	f(refundsTwice, 6)
	f(waitsTooLittle, 3)
	f(forgetsNumbers, 3)
	f(mergesNothing, 2)
}

// Random tapes hold all that they are meant to hold.
func TestRandomTapesAreRich(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(40) {
		tape := RandomTape(seed, 500)
		clock := NewClock(began)
		p := &player{tape: tape, store: newPlain(clock.Now, none), clock: clock, oracle: NewOracle(), told: map[int][]weir.Decision{}}
		last := weir.Micros(0)
		for _, e := range tape.events {
			if e.at < last {
				seen["the clock back"]++
			}
			last = e.at
			before := len(p.told)
			if err := p.play(e); err != nil {
				t.Fatal(err)
			}
			notice(seen, e, p.told[e.id], len(p.told) > before)
		}
	}
	for what, least := range map[string]int{
		"the clock back": 500, "reset": 100, "return": 500, "take": 5000, "return of an earlier one": 100,
		"all": 5000, "advise": 1000, "alone": 1000, "peek": 1000, "partial": 500, "always": 300, "force": 500, "several": 1000,
		"a slot": 1000, "a slot given": 500, "a renewal": 50, "a release": 100,
		"an error": 500, "refused": 3000, "never": 500, "granted": 5000, "waits": 3000, "refused and charged": 100, "granted in part": 100, "held": 300,
	} {
		if seen[what] < least {
			t.Errorf("%s: %d times, want at least %d", what, seen[what], least)
		}
	}
}

// notice counts what an event held and was told.
func notice(seen map[string]int, e event, told []weir.Decision, answered bool) {
	seen[e.verb]++
	if len(e.takes) > 1 {
		seen["several"]++
	}
	if e.verb == verbTake && !answered {
		seen["an error"]++
	}
	for _, g := range e.returns {
		if g.renew {
			seen["a renewal"]++
		} else if g.slot != 0 {
			seen["a release"]++
		}
		if g.event < e.id-20 {
			seen["return of an earlier one"]++
		}
	}
	for i, d := range told {
		a := e.takes[i]
		seen[joinWords()[a.join]]++
		for bit, word := range howWords() {
			if a.how&(1<<bit) != 0 {
				seen[word]++
			}
		}
		for what, so := range map[string]bool{
			"a slot": a.slot != 0, "a slot given": a.slot != 0 && d.Receipt.Cost > 0,
			"refused": !d.Allowed, "never": d.Never, "granted": d.Granted > 0, "waits": d.RetryAfter > 0,
			"refused and charged": !d.Allowed && d.Receipt.Cost > 0,
			"granted in part":     d.Granted > 1 && d.Granted < a.cost,
			"held":                d.Delay > 0,
		} {
			if so {
				seen[what]++
			}
		}
	}
}

func TestClock(t *testing.T) {
	c := NewClock(100)
	if c.Now() != 100 || c.Advance(-30) != 70 || c.Now() != 70 {
		t.Errorf("the clock reads %d", c.Now())
	}
	c.Set(5)
	if c.Now() != 5 {
		t.Errorf("the clock reads %d, want 5", c.Now())
	}
}
