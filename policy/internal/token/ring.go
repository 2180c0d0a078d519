package token

import (
	"fmt"
	"slices"
)

// mostUnnamed bounds the signatures that are computed for one token: so many
// keys are tried for one that does not say which has signed it.
const mostUnnamed = 4

// A ring holds the keys that are in use.
type ring struct {
	byID   map[string]key
	byName map[string]choice // by the algorithm's name
}

// A choice is what comes into question under an algorithm.
type choice struct {
	algorithm
	all     []key // for a token that names no key
	unnamed []key // for a token that names one, when no key has that id
}

// candidates returns the keys that may have signed a token with this header.
//
// A key without an id, as PEM and secrets are, cannot be told by one: it comes
// into question for every id that no other key has.
func (r ring) candidates(c choice, id string) ([]key, Reason) {
	keys := c.all
	if id != "" {
		if k, ok := r.byID[id]; ok {
			if !k.fits(c.algorithm) {
				return nil, Algorithm
			}
			return []key{k}, None
		}
		keys = c.unnamed
	}
	if len(keys) == 0 || len(keys) > mostUnnamed {
		return nil, UnknownKey
	}
	return keys, None
}

// newRing arranges keys that have been read, each of which fits one of wanted.
func newRing(keys []key, wanted []algorithm) ring {
	r := ring{byID: map[string]key{}, byName: map[string]choice{}}
	for _, k := range keys {
		if k.id != "" {
			r.byID[k.id] = k
		}
	}
	for _, a := range wanted {
		c := choice{algorithm: a}
		for _, k := range keys {
			if !k.fits(a) {
				continue
			}
			c.all = append(c.all, k)
			if k.id == "" {
				c.unnamed = append(c.unnamed, k)
			}
		}
		r.byName[a.name] = c
	}
	return r
}

// A reading gathers the usable keys of Config.Keys, and what is wrong there.
type reading struct {
	wanted []algorithm
	keys   []key
	places []int // of keys, in what was read
	errs   []error
}

// add takes k, unless no wanted algorithm has a use for it.
func (r *reading) add(index int, k key) {
	used := k.fitting(r.wanted)
	if len(used) == 0 {
		return
	}
	if problem, remedy := k.weakness(used); problem != "" {
		r.wrong(index, problem, remedy)
		return
	}
	same := func(other key) bool { return k.id != "" && other.id == k.id }
	if i := slices.IndexFunc(r.keys, same); i >= 0 {
		r.wrong(index, fmt.Sprintf("has the kid of Keys[%d]", r.places[i]), "give each key a kid of its own")
		return
	}
	r.keys = append(r.keys, k)
	r.places = append(r.places, index)
}

func (r *reading) wrong(index int, problem, remedy string) {
	r.errs = append(r.errs, &ConfigError{Field: "Keys", Index: index, Problem: problem, Remedy: remedy})
}
