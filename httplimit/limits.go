package httplimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// An entry is one text of a list of limits, read.
type entry struct {
	field string // where it stands, for errors
	slot  string // its own name, "" for none
	spec  weir.Spec
}

// alone reports a spec that has no state.
func (e entry) alone() bool {
	return e.spec.Algorithm == weir.Unlimited || e.spec.Algorithm == weir.Deny
}

// parse reads the texts of one list.
func (c *compiler) parse(field string, texts []string) []entry {
	if len(texts) == 0 {
		c.wrong(field, "", "there are no limits in it", `write "unlimited" if that is meant`)
	}
	if len(texts) > maxPlanLimits {
		c.wrong(field, len(texts), "too many limits", fmt.Sprintf("at most %d", maxPlanLimits))
		return nil
	}
	var list []entry
	for i, text := range texts {
		e := entry{field: field + "[" + strconv.Itoa(i) + "] " + quote(text)}
		if slot, rest, ok := strings.Cut(text, ":"); ok {
			e.slot, text = strings.TrimSpace(slot), rest
			if e.slot == "" {
				c.wrong(e.field, "", "there is no name in front of the colon", "")
			}
		}
		var err error
		if e.spec, err = weir.ParseSpec(text); err != nil {
			c.located(e.field, err)
			continue
		}
		list = append(list, e)
		if e.alone() && (len(texts) > 1 || e.slot != "") {
			c.wrong(e.field, "", "it stands alone, without a name", "leave it or the others out")
		}
	}
	return list
}

// build makes the limits of all lists of a rule. They are named by slots as
// soon as any list has several limits or names one, so that a caller whose plan
// changes stays under the same names.
func (c *compiler) build(lists map[string][]entry) map[string]*plan {
	slotted := false
	for _, list := range lists {
		slotted = slotted || len(list) > 1 || len(list) == 1 && list[0].slot != ""
	}
	made := make(map[string]*plan, len(lists))
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		made[name] = c.plan(lists[name], slotted)
	}
	return made
}

func (c *compiler) plan(list []entry, slotted bool) *plan {
	p := &plan{}
	taken := map[string]bool{}
	for _, e := range list {
		if e.alone() {
			p.deny = e.spec.Algorithm == weir.Deny
			p.unlimited = !p.deny
			continue
		}
		name, slot := c.name, e.slot
		if slot == "" {
			slot = e.spec.Slot()
		}
		if taken[slot] {
			c.wrong(e.field, "", "another limit of the list is named "+slot+" as well",
				`name one of them, as in "burst: 20/s"`)
			continue
		}
		taken[slot] = true
		if slotted {
			name += "/" + slot
		}
		l, err := weir.NewLimit(name, e.spec)
		if err != nil {
			c.located(e.field, err)
			continue
		}
		p.limits = append(p.limits, l)
	}
	return p
}

// located notes the errors of a limit, each with the rule and the text that it
// is about.
func (c *compiler) located(field string, err error) {
	var list interface{ Unwrap() []error }
	if errors.As(err, &list) {
		for _, e := range list.Unwrap() {
			c.located(field, e)
		}
		return
	}
	var e *weir.FieldError
	if !errors.As(err, &e) {
		c.errs = append(c.errs, fmt.Errorf("weir: rule %s: %s: %w", c.label, field, err))
		return
	}
	in := *e
	in.Field = "rule " + c.label + ": " + field + ": " + e.Field
	c.errs = append(c.errs, &in)
}

// quote makes a text from a configuration safe for one line.
func quote(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return strconv.Quote(s)
}
