package policy

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// special decodes the types that have forms of their own. It reports whether it
// knew the type.
func (d *decoder) special(n *yaml.Node, path string, f field, v reflect.Value) bool {
	switch to := v.Addr().Interface().(type) {
	case *HeaderMatch:
		d.headerMatch(n, path, f, to)
	case *Plan:
		d.plan(n, path, to)
	case **Plan:
		*to = &Plan{}
		d.plan(n, path, *to)
	default:
		if !isPrefix(v.Type()) {
			return false
		}
		if n.Kind != yaml.ScalarNode {
			d.wrongKind(n, path, wanted(v.Type()))
			return true
		}
		d.scalar(n, path, f, v)
	}
	return true
}

// headerMatch reads true, one value, or a list of values.
func (d *decoder) headerMatch(n *yaml.Node, path string, f field, to *HeaderMatch) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && n.Value == "true":
		to.Any = true
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool":
		d.refuseNode("wrong-kind", path, n, d.called(path)+" must be true, a text or a list of texts, not "+n.Value, "a header that must be absent cannot be asked for; a text stands in quotes")
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		d.refuseNode("empty-value", path, n, d.called(path)+" lists no values, so that nothing fits it", "write true for any value")
	case n.Kind == yaml.MappingNode:
		d.wrongKind(n, path, "true, a text or a list of texts")
	default:
		d.list(n, path, field{one: true, secret: f.secret}, reflect.ValueOf(&to.Values).Elem())
	}
}

// secretTable reports whether the values of a table are secrets: those that make
// a request exempt.
func secretTable(path string) bool {
	return strings.HasPrefix(path, "exempt[") && strings.HasSuffix(path, "].headers")
}

// plan reads where a plan's name comes from: a part, or one part with the plans
// of its values.
func (d *decoder) plan(n *yaml.Node, path string, to *Plan) {
	switch n.Kind {
	case yaml.ScalarNode:
		d.scalar(n, path, field{}, reflect.ValueOf(&to.From).Elem())
	case yaml.MappingNode:
		if len(n.Content) != 2 {
			d.refuseNode("wrong-kind", path, n, path+" has one part with a table of its values", "write `plan: {ip: {10.0.0.0/8: staff}}`")
			return
		}
		d.pairs(n, path, func(key, value *yaml.Node) {
			to.From = key.Value
			d.planTable(value, path, to)
		})
	default:
		d.wrongKind(n, path, "a part such as jwt:plan, or a mapping of one part to a table")
	}
}

// planTable reads the plans of a part's values. Values that a caller sends are
// what his plan hangs on: they are secrets.
func (d *decoder) planTable(n *yaml.Node, path string, to *Plan) {
	if source, _, _ := strings.Cut(to.From, ":"); source != "ip" && source != "jwt" {
		d.hideNames(n, path)
	}
	d.value(n, path, field{}, reflect.ValueOf(&to.Table).Elem())
}

// hideNames keeps the names of a mapping from being shown.
func (d *decoder) hideNames(n *yaml.Node, path string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		d.hideAll(n.Content[i])
		d.unspoken = append(d.unspoken, member(path, n.Content[i].Value))
	}
}
