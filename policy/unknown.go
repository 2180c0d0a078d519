package policy

import (
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/weirhq/weir/internal/suggest"
)

// indexes are those of lists in a path.
var indexes = regexp.MustCompile(`\[\d+\]`)

// unknown refuses a field that is not one, and says which was meant.
func (d *decoder) unknown(key, value *yaml.Node, path string, fields []field) {
	at := member(path, key.Value)
	kind := indexes.ReplaceAllString(path, "[]")
	d.places[at] = place{key, value}
	if nearSecret(key.Value, fields) {
		d.hideAll(value)
	}
	if d.full() {
		return
	}
	if instead, ok := notYet(kind, key.Value); ok {
		d.refuseName("not-in-this-version", at, key, visible(key.Value)+" is not in this version", instead)
		return
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	where := "here"
	if path != "" {
		where = "in " + path
	}
	d.refuseName("unknown-field", at, key, fmt.Sprintf("there is no field %s %s", visible(key.Value), where), hintFor(kind, d.places[path].value, key.Value, value, names))
}

// nearSecret reports whether a name that is none may have been meant for a field
// that is shown to nobody.
func nearSecret(name string, fields []field) bool {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	i := slices.Index(names, suggest.Closest(name, names...))
	return secretName.MatchString(name) || i >= 0 && fields[i].secret
}

// spoken is a name of a mapping as a message may have it.
func (d *decoder) spoken(path, name string) string {
	if slices.Contains(d.unspoken, path) {
		return "a value"
	}
	return visible(name)
}

// secretName is like those of the fields that are shown to nobody.
var secretName = regexp.MustCompile(`(?i)to[kc]|secret|passw|^keys$|api.?key`)
