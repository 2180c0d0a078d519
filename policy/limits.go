package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// A wording is one text of a list of limits, read.
type wording struct {
	path string // where it stands
	slot string // its own name, "" for none
	text string // as it is written
	spec weir.Spec
}

// alone reports a spec that has no state.
func (w wording) alone() bool {
	return w.spec.Algorithm == weir.Unlimited || w.spec.Algorithm == weir.Deny
}

// textPath is where the text itself stands.
func (w wording) textPath() string {
	if w.slot == "" {
		return w.path
	}
	return w.path + ".limit"
}

// wordings reads a list of limits. What is wrong with it is noted, once for each
// list, however many rules use it.
func (c *compiler) wordings(path string, list Limits) []wording {
	switch {
	case len(list) == 0:
		c.refuse("bad-limit", path, Span{}, "there are no limits in it", `write "unlimited" if that is meant`)
	case len(list) > weir.MaxTakes:
		c.refuse("too-many-limits", path, Span{}, fmt.Sprintf("%d limits", len(list)), fmt.Sprintf("a request is judged under at most %d", weir.MaxTakes))
		return nil
	}
	var read []wording
	for i, l := range list {
		w := wording{path: element(path, i), slot: l.Name, text: l.Limit}
		textPath := w.textPath()
		var err error
		if w.spec, err = specOf(l.Limit); err != nil {
			before, name := len(c.found), ""
			if len(list) == 1 && w.slot == "" { // which may be one text as well
				name = path[strings.LastIndexAny(path, ".]")+1:]
			}
			c.refuseFields("bad-limit", textPath, err)
			for i := before; i < len(c.found); i++ {
				c.found[i].Hint = severalHint(c.found[i].Hint, name)
			}
			continue
		}
		read = append(read, w)
		if w.alone() && (len(list) > 1 || w.slot != "") {
			c.refuse("bad-limit", textPath, Span{}, w.spec.String()+" stands alone, without a name", "leave it or the others out")
		}
	}
	return read
}

// severalHint says of a text of several limits where they stand: in the list of a name, or
// in the list that the text is in. Other hints are as they were.
func severalHint(hint, name string) string {
	const says = "in a rules file several are a list: "
	list, ok := strings.CutPrefix(hint, says)
	switch {
	case !ok:
		return hint
	case name == "":
		return "write each as an element of the list: " + strings.Trim(list, "[]")
	}
	return says + name + ": " + list
}

// specOf reads the text of a limit, and builds it: what is found by that has its place
// in the text as well.
func specOf(text string) (weir.Spec, error) {
	l, err := weir.ParseLimit("limit", text)
	if err != nil {
		return weir.Spec{}, err
	}
	return l.Spec(), nil
}

// slotted reports whether the limits of some lists are named by slots: as soon
// as any list has several limits, or names one, so that a caller whose plan
// changes stays under the same names.
func slotted(lists ...[]wording) bool {
	for _, list := range lists {
		if len(list) > 1 || len(list) == 1 && list[0].slot != "" {
			return true
		}
	}
	return false
}

// sharedName says why a limit has the name of one before it in its list.
func sharedName(w wording, slot string, list []wording) string {
	named := func(other wording) bool { return other.slot == slot }
	switch {
	case w.slot != "":
		return "another limit of the list is named " + slot + " as well"
	case slices.ContainsFunc(list, named):
		return fmt.Sprintf("it is named %s unless it gets a name, and another limit of the list has that for its name", slot)
	default:
		return fmt.Sprintf("it and another limit of the list are both named %s unless they get names", slot)
	}
}

// again begins the hint for a limit that stands in its list before.
func again(w wording, list []wording) string {
	first := slices.IndexFunc(list, func(other wording) bool { return other.spec == w.spec })
	if list[first].path == w.path {
		return ""
	}
	return "leave it out, or "
}

// freeName is a name that no limit of a list has, or was told to take.
func freeName(list []wording, taken map[string]bool) string {
	for n := 1; ; n++ {
		name := "more"
		if n > 1 {
			name += strconv.Itoa(n)
		}
		if !taken[name] && !slices.ContainsFunc(list, func(w wording) bool { return cmp.Or(w.slot, w.spec.Slot()) == name }) {
			return name
		}
	}
}

// quota compiles a list of limits for a rule.
func (c *compiler) quota(r *rule, list []wording, slotted bool) *quota {
	q := &quota{}
	taken := map[string]bool{}
	for _, w := range list {
		if w.alone() {
			q.deny = w.spec.Algorithm == weir.Deny
			q.unlimited = !q.deny
			continue
		}
		slot := cmp.Or(w.slot, w.spec.Slot())
		if taken[slot] {
			name := freeName(list, taken)
			taken[name] = true
			c.refuse("duplicate-slot", w.path, Span{}, sharedName(w, slot, list), again(w, list)+fmt.Sprintf("name this one: {name: %s, limit: %s}", name, w.text))
			continue
		}
		taken[slot] = true
		suffix := ""
		if slotted {
			suffix = "/" + slot
		}
		l, err := weir.NewLimitKeeping(r.Name+suffix, cmp.Or(r.was, r.Name)+suffix, w.spec)
		if err != nil {
			c.refuseFields("bad-limit", w.path, err)
			continue
		}
		c.places[l] = w.textPath()
		q.limits = append(q.limits, l)
		if !inFlight(l) {
			q.rates = append(q.rates, l)
		}
	}
	r.Limits = append(r.Limits, q.limits...)
	return q
}
