package decide

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
	"github.com/weirhq/weir/internal/suggest"
)

// fields reads the fields of a body, noting what is wrong with each.
type fields struct {
	members []member
	*mistakes
}

// MostCost is the largest cost that any limit can have room for.
const MostCost = 1<<52 - 1

// only refuses all fields but these.
func (f fields) only(names ...string) {
	for _, m := range f.members {
		if slices.Contains(names, m.name) {
			continue
		}
		remedy := suggest.DidYouMean(m.name, names...)
		if remedy == "" {
			remedy = "the fields are " + strings.Join(names, ", ")
		}
		f.add(m.name, "there is no such field", remedy)
	}
}

// find gives a field's value, and whether it is there and of the kind.
func (f fields) find(name string, k kind) (value, bool) {
	for _, m := range f.members {
		if m.name != name {
			continue
		}
		if m.value.kind == null {
			f.add(name, "it is null", "leave it out, or give "+k.String())
			return value{}, false
		}
		if m.value.kind != k {
			f.add(name, fmt.Sprintf("it must be %s, not %s", k, m.value.kind), "")
			return value{}, false
		}
		return m.value, true
	}
	return value{}, false
}

// has reports whether a field is there, whatever it holds.
func (f fields) has(name string) bool {
	return slices.ContainsFunc(f.members, func(m member) bool { return m.name == name })
}

// text gives a text of which nothing is asked; "" where there is none.
func (f fields) text(name string) string {
	v, _ := f.find(name, text)
	return v.text
}

// needed gives a text that must be there, of 1 to most bytes.
func (f fields) needed(name string, most int, remedy string) (string, bool) {
	v, ok := f.find(name, text)
	switch {
	case !f.has(name):
		f.add(name, "it is missing", remedy)
	case !ok: // said already
	case v.text == "":
		f.add(name, "it is empty", remedy)
	case len(v.text) > most:
		f.add(name, fmt.Sprintf("it has %d bytes", len(v.text)), fmt.Sprintf("write at most %d", most))
	default:
		return v.text, true
	}
	return "", false
}

// flag gives true or false; false where it is not there.
func (f fields) flag(name string) bool {
	v, _ := f.find(name, boolean)
	return v.text == "true"
}

// cost gives the units that are asked for, 0 where none are named. A number is
// taken as it is written: 1.0 and 1e3 are no whole numbers, whatever they are
// worth.
func (f fields) cost(name string) int64 {
	v, ok := f.find(name, number)
	if !ok {
		return 0
	}
	remedy := fmt.Sprintf("write a whole number from 1 to %d, in digits alone", int64(MostCost))
	n, err := strconv.ParseInt(v.text, 10, 64)
	switch {
	case strings.HasPrefix(v.text, "-"):
		f.add(name, "it cannot be below 0", remedy)
	case strings.ContainsAny(v.text, ".eE"):
		f.add(name, "it is not a whole number in digits", remedy)
	case err == nil && n == 0:
		f.add(name, "nothing costs 0", "leave it out for the usual cost, or "+remedy)
	case err != nil || n > MostCost:
		f.add(name, "it is too large", remedy)
	default:
		return n
	}
	return 0
}

func badRequest(detail string) *problem.Problem {
	return &problem.Problem{Status: http.StatusBadRequest, Detail: detail}
}
