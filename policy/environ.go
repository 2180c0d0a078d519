package policy

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/suggest"
)

// prefix begins the names of variables that override fields.
const prefix = "WEIR_"

// variable is an environment variable that overrides a field of the file: one
// value, or a list of values with commas between, outside lists and mappings of
// the file's own choosing.
type variable struct {
	name, path string
	index      []int // of the field, from the Config, through structs and pointers
	field      field
}

// variables lists them all: WEIR_ENFORCE, WEIR_LISTEN_PROXY, …
func variables() []variable {
	var list []variable
	collect(reflect.TypeFor[Config](), variable{name: strings.TrimSuffix(prefix, "_")}, &list)
	return list
}

// collect adds the variables of a struct's fields.
func collect(t reflect.Type, in variable, list *[]variable) {
	for _, f := range fieldsOf(t) {
		v := variable{name: in.name + "_" + strings.ToUpper(f.name), path: member(in.path, f.name), field: f}
		v.index = append(slices.Clone(in.index), f.index)
		if f.short { // the name of what holds it says it
			v.name, v.path = in.name, in.path
		}
		of := f.typ
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case f.name == "version" || of.Kind() == reflect.Map:
		case of.Kind() == reflect.Slice && !scalar(of.Elem()):
		case scalar(of) || of.Kind() == reflect.Slice:
			*list = append(*list, v)
		default:
			collect(of, v, list)
		}
	}
}

// scalar reports whether a type is written as one text.
func scalar(t reflect.Type) bool {
	return isPrefix(t) || t.Kind() != reflect.Struct && t.Kind() != reflect.Slice && t.Kind() != reflect.Map
}

// variableField finds the variable of a name.
func variableField(name string) (variable, bool) {
	all := variables()
	i := slices.IndexFunc(all, func(v variable) bool { return v.name == name })
	if i < 0 {
		return variable{}, false
	}
	return all[i], true
}

// environ lets the environment override fields. What is wrong with a variable
// stops the start, as it does in the file.
func (r *reader) environ(environ []string, c *Config) {
	last := map[string]string{} // of two variables of a name the last counts, as for a process
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix) {
			last[name] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		text := last[name]
		v, known := variableField(name)
		switch {
		case !known:
			r.strange(name)
		case strings.TrimSpace(text) == "":
			r.addVariable(Error, name, complaint{"empty-value", name + " is empty", "unset it, or give it a value"})
		default:
			r.override(v, text, c)
		}
	}
}

// addVariable notes what is wrong with a variable.
func (r *reader) addVariable(s Severity, name string, c complaint) {
	r.found = append(r.found, Diagnostic{Severity: s, Code: c.code, Path: name, Message: c.message, Hint: c.hint})
}

// override sets a field. The switch is only ever turned down: the weakest of
// file and environment holds.
func (r *reader) override(v variable, text string, c *Config) {
	to := reflect.New(v.field.typ).Elem()
	if bad := setList(v, text, to); bad != (complaint{}) {
		bad.hint = strings.Replace(bad.hint, "leave the field out", "unset it", 1)
		r.addVariable(Error, v.name, bad)
		return
	}
	if wanted, ok := reflect.TypeAssert[Enforce](to); ok && c.Enforce != "" && weakest(c.Enforce, wanted) == c.Enforce {
		return
	}
	at := reflect.ValueOf(c).Elem()
	for i, index := range v.index {
		if i > 0 && at.Kind() == reflect.Pointer {
			if at.IsNil() {
				at.Set(reflect.New(at.Type().Elem()))
			}
			at = at.Elem()
		}
		at = at.Field(index)
	}
	at.Set(to)
	r.variables[v.path] = v.name
}

// inVariables calls fields by the variables that say what they hold, in what is said of
// them: whoever writes into the file instead changes nothing. A name that is one word
// may be no field's, but for that of the field that it is said of.
func (r *reader) inVariables(d *Diagnostic) {
	for path, name := range r.variables {
		switch of := within(d.Path, path); {
		case strings.Contains(path, "."):
			d.Message, d.Hint = renamed(d.Message, path, name), renamed(d.Hint, path, name)
		case of:
			d.Hint = renamed(d.Hint, path, name)
		}
		if out := "leave " + name + " out"; strings.Contains(d.Hint, out) {
			d.Hint = strings.ReplaceAll(d.Hint, out, "unset "+name)
		}
	}
}

// renamed puts a name where a path stands in a text.
func renamed(text, path, name string) string {
	word := regexp.MustCompile(`(^|[^\w.\]])` + regexp.QuoteMeta(path) + `($|[^\w.\[])`)
	return word.ReplaceAllString(text, "${1}"+name+"${2}")
}

// setList sets a field from a variable's text.
func setList(v variable, text string, to reflect.Value) complaint {
	if to.Kind() != reflect.Slice {
		return setText(v.name, text, v.field, to)
	}
	for part := range strings.SplitSeq(text, ",") {
		one := reflect.New(to.Type().Elem()).Elem()
		if bad := setText(v.name, strings.TrimSpace(part), field{}, one); bad != (complaint{}) {
			return bad
		}
		to.Set(reflect.Append(to, one))
	}
	return complaint{}
}

// injected are the variables that Kubernetes gives every container of a
// namespace with a service whose name begins with weir.
var injected = regexp.MustCompile(`^WEIR_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$`)

// elsewhere are variables that begin like ours and are read by others: the
// command line, the daemon, the tests.
var elsewhere = [...]string{"WEIR_CONFIG", "WEIR_SWITCH_FILE", "WEIR_LONG"}

// strange deals with a variable that begins like ours and is none.
func (r *reader) strange(name string) {
	if slices.Contains(elsewhere[:], name) || injected.MatchString(name) {
		return
	}
	for _, l := range laterVariables {
		if name == l || strings.HasPrefix(name, l+"_") {
			r.addVariable(Error, name, complaint{"not-in-this-version", name + " is not in this version", "unset it; states are kept in the memory of this process"})
			return
		}
	}
	var names []string
	for _, v := range variables() {
		names = append(names, v.name)
	}
	hint := "unset it, or set one of the fields that stand outside lists, such as WEIR_ENFORCE"
	if near := suggest.DidYouMean(name, append(names, elsewhere[:]...)...); near != "" {
		hint = near
	}
	for _, v := range names {
		if strings.HasPrefix(name, v+"_") {
			hint = "did you mean " + v + "?"
		}
	}
	r.addVariable(Warning, name, complaint{"unknown-variable", name + " is no variable of weir; it changes nothing", hint})
}
