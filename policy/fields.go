package policy

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A field is one name that a mapping of the rules file may hold.
type field struct {
	name     string
	typ      reflect.Type
	index    int   // in the struct
	min, max int64 // the range of a number; both 0 for none
	short    bool  // its value may stand for the whole mapping
	one      bool  // one element may stand for the list
	secret   bool  // its value is shown to nobody
}

// fieldsOf are the fields of a struct of the rules file, in order.
func fieldsOf(t reflect.Type) (list []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		forms := strings.Split(f.Tag.Get("forms"), ",")
		list = append(list, field{
			name: name, typ: f.Type, index: i,
			min: number(f.Tag.Get("min")), max: number(f.Tag.Get("max")),
			short:  slices.Contains(forms, "short"),
			one:    slices.Contains(forms, "one"),
			secret: slices.Contains(forms, "secret"),
		})
	}
	return list
}

// number reads what a tag says; what is absent is 0.
func number(tag string) int64 {
	n, _ := strconv.ParseInt(tag, 10, 64) // tags are tested: TestTags
	return n
}

// worded is a text of which only some words are known.
type worded interface{ words() []string }

func (Enforce) words() []string { return []string{string(On), string(Shadow), string(Off)} }
func (OnFull) words() []string {
	return []string{string(OnFullOverflow), string(OnFullRefuse), string(OnFullAdmit)}
}
func (Unix) words() []string      { return []string{string(UnixRefuse), string(UnixTrust)} }
func (Ambiguous) words() []string { return []string{string(AmbiguousReject), string(AmbiguousPass)} }
func (Slash) words() []string     { return []string{string(SlashIgnore), string(SlashKeep)} }
func (RateLimit) words() []string { return []string{string(Draft11), string(RateLimitOff)} }
func (Legacy) words() []string    { return []string{string(LegacyOn), string(LegacyOff)} }
func (Reset) words() []string     { return []string{string(ResetDelta), string(ResetEpoch)} }
func (Missing) words() []string {
	return []string{string(MissingIP), string(MissingSkip), string(MissingDeny)}
}
func (Normalize) words() []string { return []string{string(NormalizeNone), string(NormalizeLower)} }
func (Scope) words() []string     { return []string{string(ScopeShared), string(ScopeReplica)} }

// wordsOf are the words that a type knows, nil for any text.
func wordsOf(t reflect.Type) []string {
	if w, ok := reflect.TypeAssert[worded](reflect.Zero(t)); ok {
		return w.words()
	}
	return nil
}

// The types that are read otherwise than their kind says.
func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[time.Duration]() }
func isPrefix(t reflect.Type) bool   { return t == reflect.TypeFor[netip.Prefix]() }

// member is the path of a named part: rules[0].headers.X-Foo, plans["a b"].
func member(path, name string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	switch {
	case name == "" || strings.IndexFunc(name, odd) >= 0:
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// element is the path of a list's element: rules[0].
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// belongs says where else in the file a field of this name has its place.
func belongs(name string) (where string, ok bool) {
	var found []string
	visit(reflect.TypeFor[Config](), "", func(path string, f field) {
		if f.name == name {
			found = append(found, path)
		}
	})
	if len(found) == 0 {
		return "", false
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	switch found[0] {
	case "":
		return "to the file itself, not indented", true
	case "rules[]":
		return "to a rule", true
	case "exempt[]":
		return "to an entry of exempt", true
	}
	return "under " + strings.NewReplacer("[]", "", ".*", "").Replace(found[0]), true
}

// visit calls f for each field that a rules file can have, under the path of
// what holds it: rules[] for the fields of a rule, plans.* for those of a plan.
func visit(t reflect.Type, path string, f func(path string, f field)) {
	switch t.Kind() {
	case reflect.Pointer:
		visit(t.Elem(), path, f)
	case reflect.Slice:
		visit(t.Elem(), path+"[]", f)
	case reflect.Map:
		visit(t.Elem(), path+".*", f)
	case reflect.Struct:
		for _, each := range fieldsOf(t) {
			f(path, each)
			visit(each.typ, strings.TrimPrefix(path+"."+each.name, "."), f)
		}
	default:
	}
}

// named reports whether a secret is only named, by where it is to be found.
func named(text string) bool {
	return strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:")
}
