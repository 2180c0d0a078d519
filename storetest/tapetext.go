package storetest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// mostLimits bounds the numbers that limits may have on a tape.
const mostLimits = 1000

// String is the tape's text.
func (t *Tape) String() string {
	var b strings.Builder
	used := map[int]bool{}
	for _, e := range t.events {
		used[e.reset.limit] = used[e.reset.limit] || e.verb == verbReset
		for _, a := range e.takes {
			used[a.limit] = true
		}
		for _, g := range e.returns {
			used[g.limit] = true
		}
	}
	for i, l := range t.limits {
		if used[i] {
			fmt.Fprintf(&b, "limit %d %s %s\n", i, l.Name(), l)
		}
	}
	for _, e := range t.events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// String is the event's line.
func (e event) String() string {
	var parts []string
	for _, a := range e.takes {
		parts = append(parts, a.String())
	}
	for _, g := range e.returns {
		parts = append(parts, g.String())
	}
	if e.verb == verbReset {
		parts = append(parts, e.reset.String())
	}
	line := fmt.Sprintf("%d @%d %s %s", e.id, e.at, e.verb, strings.Join(parts, " | "))
	return strings.TrimRight(line, " ")
}

// String names the state.
func (c cell) String() string { return fmt.Sprintf("%d#%d", c.limit, c.key) }

// String is the return as an event's line has it.
func (g giveBack) String() string {
	switch {
	case g.renew:
		return fmt.Sprintf("%v renew %d", g.cell, g.slot)
	case g.slot != 0:
		return fmt.Sprintf("%v slot %d", g.cell, g.slot)
	}
	return fmt.Sprintf("%v %d of %d.%d", g.cell, g.units, g.event, g.take)
}

// String is the take as an event's line has it.
func (a ask) String() string {
	words := []string{a.cell.String(), strconv.FormatInt(a.cost, 10)}
	if names := joinWords(); a.join != weir.All && int(a.join) < len(names) {
		words = append(words, names[a.join])
	}
	for i, word := range howWords() {
		if a.how&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	if a.slot != 0 {
		words = append(words, fmt.Sprintf("slot %d", a.slot))
	}
	if e := a.edges; e != nil {
		words = append(words, fmt.Sprintf("edges %d,%d,%d,%d", e[0], e[1], e[2], e[3]))
	}
	return strings.Join(words, " ")
}

// joinWords are the joins, by value.
func joinWords() []string { return []string{"all", "advise", "alone"} }

// howWords are the bits of how, from the lowest.
func howWords() []string { return []string{"peek", "partial", "always", "force", "strike"} }

// ParseTape reads a tape's text. An error names the line.
func ParseTape(text string) (*Tape, error) {
	t := &Tape{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := t.parseLine(line); err != nil {
			return nil, fmt.Errorf("storetest: tape, line %d: %w", n, err)
		}
	}
	return t, nil
}

func (t *Tape) parseLine(line string) error {
	if rest, ok := strings.CutPrefix(line, "limit "); ok {
		return t.parseLimit(rest)
	}
	e := event{}
	words := strings.SplitN(line, " ", 4)
	if len(words) < 3 {
		return fmt.Errorf("%q: an event is a number, an instant and a verb", line)
	}
	var err error
	if e.id, err = strconv.Atoi(words[0]); err != nil {
		return err
	}
	at, err := strconv.ParseInt(strings.TrimPrefix(words[1], "@"), 10, 64)
	if err != nil {
		return err
	}
	e.at, e.verb = weir.Micros(at), words[2]
	if err := e.parse(strings.Join(words[3:], "")); err != nil {
		return err
	}
	t.events = append(t.events, e)
	return t.known(e)
}

func (t *Tape) parseLimit(text string) error {
	words := strings.SplitN(text, " ", 3)
	if len(words) != 3 {
		return fmt.Errorf("%q: a limit is a number, a name and a text", text)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 0 || n >= mostLimits {
		return fmt.Errorf("limit number %q", words[0])
	}
	l, err := weir.ParseLimit(words[1], words[2])
	if err != nil {
		return err
	}
	if lawOf(l) == nil {
		return fmt.Errorf("limit %q has no states", words[2])
	}
	for len(t.limits) <= n {
		t.limits = append(t.limits, nil)
	}
	t.limits[n] = l
	return nil
}

// parse reads what follows the verb.
func (e *event) parse(text string) error {
	if e.verb == verbTake && text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, "|") {
		words := strings.Fields(part)
		if len(words) == 0 {
			return fmt.Errorf("%s of nothing", e.verb)
		}
		var c cell
		if !scan(words[0], "%d#%d", &c.limit, &c.key) {
			return fmt.Errorf("state %q", words[0])
		}
		if err := e.parsePart(c, words[1:]); err != nil {
			return err
		}
	}
	return nil
}

// scan reads a word that is in exactly the given form, but for leading zeros.
func scan(word, form string, values ...any) bool {
	var rest string
	n, _ := fmt.Sscanf(word, form+"%s", append(values, &rest)...)
	return n == len(values) && rest == ""
}

func (e *event) parsePart(c cell, words []string) error {
	switch {
	case e.verb == verbReset && len(words) == 0:
		e.reset = c
		return nil
	case e.verb == verbReturn && len(words) == 3 && words[1] == "of":
		g := giveBack{cell: c}
		if !scan(words[0]+" "+words[2], "%d %d.%d", &g.units, &g.event, &g.take) {
			return fmt.Errorf("return %q", words)
		}
		e.returns = append(e.returns, g)
		return nil
	case e.verb == verbReturn && len(words) == 2:
		g := giveBack{cell: c, renew: words[0] == "renew"}
		if words[0] != "slot" && !g.renew || !scan(words[1], "%d", &g.slot) || g.slot == 0 {
			return fmt.Errorf("return %q", words)
		}
		e.returns = append(e.returns, g)
		return nil
	case e.verb == verbTake && len(words) > 0:
		a := ask{cell: c}
		e.takes = append(e.takes, a)
		return e.takes[len(e.takes)-1].parse(words)
	}
	return fmt.Errorf("%s %q", e.verb, words)
}

// parse reads the cost and the words behind it.
func (a *ask) parse(words []string) (err error) {
	if a.cost, err = strconv.ParseInt(words[0], 10, 64); err != nil {
		return err
	}
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "slot" && i+1 < len(words):
			i++
			if !scan(words[i], "%d", &a.slot) || a.slot == 0 {
				return fmt.Errorf("slot %q", words[i])
			}
		case w == "edges" && i+1 < len(words):
			i++
			a.edges = &weir.Edges{}
			e := a.edges
			if !scan(words[i], "%d,%d,%d,%d", &e[0], &e[1], &e[2], &e[3]) {
				return fmt.Errorf("edges %q", words[i])
			}
		default:
			if !a.word(w) {
				return fmt.Errorf("unknown word %q", w)
			}
		}
	}
	return nil
}

// word reads a join or a bit of how.
func (a *ask) word(w string) bool {
	for i, join := range joinWords() {
		if w == join {
			a.join = weir.Join(i)
			return true
		}
	}
	for i, how := range howWords() {
		if w == how {
			a.how |= 1 << i
			return true
		}
	}
	return false
}
