package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder fills a Config from YAML nodes, guided by the types and tags of the
// Config, and collects everything that does not fit. What is wrong is left at
// its zero value, so that lists keep their indexes.
type decoder struct {
	*reader
	depth   int // of aliases within aliases
	aliased int // how many nodes were read through aliases
}

const (
	// deepestAlias and mostAliased bound what a few lines of aliases can stand
	// for. A hundred rules that share twenty networks read 2,000 nodes.
	deepestAlias = 8
	mostAliased  = 100_000
)

// decode fills a Config.
func (r *reader) decode(root *yaml.Node) (c Config) {
	d := &decoder{reader: r}
	d.places[""] = place{value: root}
	if d.version(root) {
		d.value(root, "", field{}, reflect.ValueOf(&c).Elem())
	}
	return c
}

// version looks at the file's version before anything else: in another version
// everything may mean something else.
func (d *decoder) version(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return true // which is refused as every other value of a wrong kind
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value != "version" {
			continue
		}
		if n, ok := plainInteger(value); ok && n > 1 {
			d.refuseNode("not-in-this-version", "version", value, fmt.Sprintf("version %d is not in this version of weir, which reads 1", n), "use a newer weir, or write the file for version 1")
			return false
		}
		return true
	}
	d.refuseNode("missing-version", "", root, "`version: 1` is missing", "begin the file with `version: 1`")
	return true
}

// refuseNode notes an error under a whole value.
func (d *decoder) refuseNode(code, path string, n *yaml.Node, message, hint string) {
	if d.full() {
		return
	}
	one := Diagnostic{Severity: Error, Code: code, Path: path, Message: message, Hint: hint}
	d.mark(&one, place{key: d.places[path].key, value: n})
	d.found = append(d.found, one)
}

// refuseName notes an error under the name of a field.
func (d *decoder) refuseName(code, path string, key *yaml.Node, message, hint string) {
	d.refuseNode(code, path, key, message, hint)
}

// value decodes a node by the type of what it goes to.
func (d *decoder) value(n *yaml.Node, path string, f field, v reflect.Value) {
	n, leave := d.follow(n, path)
	if n == nil {
		return
	}
	defer leave()
	p := d.places[path]
	d.places[path] = place{p.key, n}
	if f.secret && !shown(n, path) || f.name == "upstream" && hasCredentials(n) {
		d.hideAll(n)
	}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		d.refuseNode("yaml-tag", path, n, "a rules file has no tags such as "+visible(n.Tag), "write the value alone; a number or `true` that is a text stands in quotes")
	case isNull(n):
		d.refuseNode("empty-value", path, n, d.called(path)+" has no value", "write one, or leave the field out")
	case d.special(n, path, f, v):
	default:
		d.kinds(n, path, f, v)
	}
}

// called is how a message names the field at a path.
func (d *decoder) called(path string) string {
	switch {
	case path == "":
		return "the file"
	case slices.Contains(d.unspoken, path):
		return parentOf(path)
	}
	return path
}

// kinds decodes by the kind of what a node goes to.
func (d *decoder) kinds(n *yaml.Node, path string, f field, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.kinds(n, path, f, v.Elem())
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Slice:
		d.list(n, path, f, v)
	case reflect.Map:
		if n.Kind == yaml.MappingNode && len(n.Content) == 0 && path != "plans" {
			d.refuseNode("empty-value", path, n, d.called(path)+" holds nothing, which is not the same as everything", "write what it holds, or leave the field out")
			return
		}
		d.table(n, path, v)
	default:
		if n.Kind != yaml.ScalarNode {
			d.wrongKind(n, path, wanted(v.Type()))
			return
		}
		d.scalar(n, path, f, v)
	}
}

// follow resolves an alias. The result is nil where it leads too far; leave ends
// what it began.
func (d *decoder) follow(n *yaml.Node, path string) (target *yaml.Node, leave func()) {
	leave = func() {}
	if n.Kind == yaml.AliasNode {
		target, d.depth = n.Alias, d.depth+1
		leave = func() { d.depth-- }
	} else {
		target = n
	}
	if d.depth > 0 {
		d.aliased++
	}
	if d.depth <= deepestAlias && d.aliased <= mostAliased {
		return target, leave
	}
	if d.aliased <= mostAliased+1 {
		d.refuseNode("alias-too-large", path, n, "aliases stand for too much here", fmt.Sprintf("write it out; at most %d values may stand behind aliases, %d aliases within each other", mostAliased, deepestAlias))
	}
	d.aliased, d.halted = max(d.aliased, mostAliased+1), true
	leave()
	return nil, nil
}

// shown reports whether what stands for a secret may be shown itself.
func shown(n *yaml.Node, path string) bool {
	url := strings.HasPrefix(n.Value, "https://") && !strings.Contains(n.Value, "@")
	file := path == "jwt.keys" && fileName.MatchString(n.Value)
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!bool" || url || file || named(n.Value))
}

// hasCredentials reports whether there may be a password in a URL.
func hasCredentials(n *yaml.Node) bool {
	return strings.Contains(n.Value, "@") || slices.ContainsFunc(n.Content, hasCredentials)
}

// hideAll keeps a value and all that is in it from being shown.
func (d *decoder) hideAll(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		d.hide(n)
	}
	for _, each := range n.Content {
		d.hideAll(each)
	}
}

// wrongKind refuses a list where a text is meant, and the like.
func (d *decoder) wrongKind(n *yaml.Node, path, want string) {
	got, hint := "a text", "write "+want
	switch kind := indexes.ReplaceAllString(path, "[]"); {
	case kind == "rules[].limit" && n.Kind == yaml.SequenceNode:
		hint = "several limits are written `limits: " + flow(n) + "`"
	case strings.HasSuffix(kind, "[].limit") && n.Kind == yaml.MappingNode:
		hint = meantLimit(n)
	case (strings.HasSuffix(kind, "[]") || strings.HasSuffix(kind, "[].limit")) && n.Kind == yaml.SequenceNode:
		hint = "write its elements in the outer list"
	case kind == "exempt[]" && n.Kind == yaml.ScalarNode && meantEntry(n.Value) != "":
		hint = meantEntry(n.Value)
	case want == "a list" && n.Kind == yaml.ScalarNode:
		hint = "put it into brackets: [" + visible(n.Value) + "]"
	case want == "a list":
		hint = "begin each element with `- `"
	case want == "a mapping":
		hint = "write its fields below it, each as `name: value`"
	}
	switch {
	case n.Kind == yaml.SequenceNode:
		got = "a list"
	case n.Kind == yaml.MappingNode:
		got = "a mapping"
	case n.Tag == "!!int" || n.Tag == "!!float":
		got = "a number"
	case n.Tag == "!!bool":
		got = n.Value
	}
	d.refuseNode("wrong-kind", path, n, fmt.Sprintf("%s must be %s, not %s", d.called(path), want, got), hint)
}

// flow is a short list of texts as it stands in brackets; […] of anything else.
func flow(n *yaml.Node) string {
	const longest = 100
	var texts []string
	for _, each := range n.Content {
		if each.Kind != yaml.ScalarNode || strings.ContainsAny(each.Value, ",[]{}#:\n") {
			return "[…]"
		}
		texts = append(texts, visible(each.Value))
	}
	if text := "[" + strings.Join(texts, ", ") + "]"; len(text) <= longest && len(texts) > 0 {
		return text
	}
	return "[…]"
}

// wanted says what a type wants, for people.
func wanted(t reflect.Type) string {
	switch {
	case isPrefix(t):
		return "a network such as 10.0.0.0/8"
	case isDuration(t):
		return "a duration such as 30s"
	case wordsOf(t) != nil:
		return "one of " + strings.Join(wordsOf(t), ", ")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return "a text"
	}
}

// mayBeEmpty are the lists that say something plain when they are empty: there are
// none. An empty list of what a request must hold would hold for every request.
var mayBeEmpty = [...]string{"rules", "exempt", "routes", "client_ip.trusted_proxies", "client_ip.trusted_headers", "client_ip.nat64"}

// list decodes a sequence; where one element may stand for the list, a scalar or
// a mapping.
func (d *decoder) list(n *yaml.Node, path string, f field, v reflect.Value) {
	of := field{}
	switch {
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0 && !slices.Contains(mayBeEmpty[:], path):
		d.refuseNode("empty-value", path, n, d.called(path)+" lists nothing, which is not the same as everything", "write what it lists, or leave the field out")
	case n.Kind == yaml.SequenceNode:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, each := range n.Content {
			at := element(path, i)
			d.places[at] = place{value: each}
			d.value(each, at, of, v.Index(i))
		}
	case f.one || v.Type() == reflect.TypeFor[Limits]():
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		at := element(path, 0)
		d.places[at] = place{d.places[path].key, n}
		d.value(n, at, of, v.Index(0))
	default:
		d.wrongKind(n, path, "a list")
	}
}

// table decodes a mapping of names that the file chooses.
func (d *decoder) table(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.wrongKind(n, path, "a mapping")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	headers := map[string]string{}
	d.pairs(n, path, func(key, value *yaml.Node) {
		at := member(path, key.Value)
		d.places[at] = place{key, value}
		name := canonicalHeader(key.Value)
		if strings.HasSuffix(path, "].headers") && headers[name] != "" {
			d.hideAll(value)
			d.refuseName("duplicate-field", at, key, fmt.Sprintf("%s and %s are one header", headers[name], visible(key.Value)), "leave one out; several values are a list")
			return
		}
		headers[name] = visible(key.Value)
		if plain := path + "." + key.Value; plain != at {
			d.quoted[plain] = at
		}
		each := reflect.New(v.Type().Elem()).Elem()
		d.value(value, at, field{secret: secretTable(path)}, each)
		v.SetMapIndex(reflect.ValueOf(key.Value), each)
	})
}

// structure decodes a mapping of known names.
func (d *decoder) structure(n *yaml.Node, path string, v reflect.Value) {
	fields := fieldsOf(v.Type())
	if n.Kind != yaml.MappingNode {
		for _, f := range fields {
			if f.short && n.Kind == yaml.ScalarNode {
				d.value(n, path, f, v.Field(f.index))
				return
			}
		}
		d.wrongKind(n, path, "a mapping")
		return
	}
	d.pairs(n, path, func(key, value *yaml.Node) {
		at := member(path, key.Value)
		for _, f := range fields {
			if f.name == key.Value {
				d.places[at] = place{key, value}
				d.value(value, at, f, v.Field(f.index))
				return
			}
		}
		d.unknown(key, value, path, fields)
	})
}

// pairs calls f for each name and value of a mapping, but for those that no
// mapping of a rules file may have.
func (d *decoder) pairs(n *yaml.Node, path string, f func(key, value *yaml.Node)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := member(path, key.Value)
		switch {
		case key.Tag == "!!merge":
			d.hideAll(value)
			d.refuseName("merge-key", path, key, "`<<` is not read: it would hide which fields a rule has", "write the fields out, or share single values by an alias")
		case key.Kind != yaml.ScalarNode:
			d.refuseName("wrong-kind", path, key, "a name is a text", "write `name: value`")
		case key.Style&yaml.TaggedStyle != 0:
			d.refuseName("yaml-tag", at, key, "a rules file has no tags such as "+visible(key.Tag), "write the name alone")
		case lines[key.Value] > 0:
			if secretTable(path) || secretName.MatchString(key.Value) {
				d.hideAll(value)
			}
			d.refuseName("duplicate-field", at, key, fmt.Sprintf("%s stands here twice, first in line %d", d.spoken(at, key.Value), lines[key.Value]), "leave one out; several values are a list")
		default:
			lines[key.Value] = key.Line
			f(key, value)
		}
	}
}
