package policy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const schemaFile = "../docs/rules.schema.json"

// schemas describes the types of a Config by what the decoder knows of them, and
// their fields by what the page about rules files says.
type schemas struct {
	t     *testing.T
	about map[string]string // the page's paragraphs, by the paths of fields
	defs  jsonschema.Definitions
}

// schemaOfConfig is the whole schema.
func schemaOfConfig(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s := &schemas{t: t, about: paragraphs(t), defs: jsonschema.Definitions{}}
	root := s.object(reflect.TypeFor[Config](), "")
	root.Version = jsonschema.Version
	root.ID = "https://raw.githubusercontent.com/weirhq/weir/main/docs/rules.schema.json"
	root.Title = "weir rules file"
	root.Description = "Which requests are limited, by whom they are counted, how much may pass: https://github.com/weirhq/weir/blob/main/docs/rules.md"
	root.Definitions = s.defs
	return root
}

var (
	// paragraph is what the page says of a field.
	paragraph = regexp.MustCompile("(?ms)^\\*\\*`([^`]+)`\\*\\* (.*?)(?:\\n\\n|\\z)")

	// pointer is a sentence that only points elsewhere; link is any other link.
	pointer = regexp.MustCompile(`(^|\. )(?:See )?\[[^\]]+\]\([^)]+\)[^.]*\.`)
	link    = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// paragraphs are the page's, each in one line and without links.
func paragraphs(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, m := range paragraph.FindAllStringSubmatch(string(page), -1) {
		text := strings.Join(strings.Fields(m[2]), " ")
		text = pointer.ReplaceAllString(text, "$1")
		about[m[1]] = strings.TrimSpace(link.ReplaceAllString(text, "$1"))
	}
	return about
}

// object describes a struct whose fields the page has under a path.
func (s *schemas) object(t reflect.Type, path string) *jsonschema.Schema {
	o := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, f := range fieldsOf(t) {
		at := strings.TrimPrefix(path+"."+f.name, ".")
		each := s.field(f, at)
		if each.Ref != "" {
			each = &jsonschema.Schema{AllOf: []*jsonschema.Schema{each}}
		}
		each.Description = s.about[at]
		if each.Description == "" {
			s.t.Errorf("the page about rules files says nothing of %s", at)
		}
		o.Properties.Set(f.name, each)
		if f.short {
			o.Required = append(o.Required, f.name)
		}
	}
	switch t {
	case reflect.TypeFor[Config]():
		o.Required = []string{"version"}
	case reflect.TypeFor[Rule]():
		o.Required = []string{"name"}
		o.OneOf = []*jsonschema.Schema{{Required: []string{"limit"}}, {Required: []string{"limits"}}, {Required: []string{"plan", "default_plan"}}}
	case reflect.TypeFor[Exempt]():
		o.MinProperties = new(uint64(1))
	case reflect.TypeFor[TLS]():
		o.Required = []string{"cert", "key"}
	case reflect.TypeFor[JWT]():
		o.Required = []string{"keys", "algorithms"}
	}
	return o
}

// text is any text that says something.
func text() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: new(uint64(1))} }

// field describes the values of a field.
func (s *schemas) field(f field, path string) *jsonschema.Schema {
	switch t := f.typ; {
	case isDuration(t):
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+d)?([0-9.]+(h|m|s|ms|us|µs))*$`, MinLength: new(uint64(1))}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return &jsonschema.Schema{Type: "integer", Minimum: json.Number(strconv.FormatInt(f.min, 10)), Maximum: json.Number(strconv.FormatInt(f.max, 10))}
	case f.one:
		item := s.of(t.Elem(), path)
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{item, {Type: "array", Items: item, MinItems: new(uint64(1))}}}
	case f.name == "algorithms":
		return &jsonschema.Schema{Type: "array", Items: text(), MinItems: new(uint64(1))}
	default:
		return s.of(t, path)
	}
}

// of describes the values of a type.
func (s *schemas) of(t reflect.Type, path string) *jsonschema.Schema {
	switch {
	case isPrefix(t):
		return text()
	case t == reflect.TypeFor[HeaderMatch]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: true}, text(), {Type: "array", Items: text(), MinItems: new(uint64(1))}}}
	case t == reflect.TypeFor[Plan]():
		table := &jsonschema.Schema{Type: "object", AdditionalProperties: text(), MinProperties: new(uint64(1))}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text(), {Type: "object", AdditionalProperties: table, MinProperties: new(uint64(1)), MaxProperties: new(uint64(1))}}}
	case wordsOf(t) != nil:
		words := &jsonschema.Schema{Type: "string"}
		for _, w := range wordsOf(t) {
			words.Enum = append(words.Enum, w)
		}
		return words
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), path)
	case reflect.Slice:
		item := s.of(t.Elem(), path+"[]")
		if t == reflect.TypeFor[Limits]() {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{item, {Type: "array", Items: item, MinItems: new(uint64(1))}}}
		}
		return &jsonschema.Schema{Type: "array", Items: item}
	case reflect.Map:
		o := &jsonschema.Schema{Type: "object", AdditionalProperties: s.of(t.Elem(), path+".*")}
		if t.Elem() == reflect.TypeFor[HeaderMatch]() {
			o.MinProperties = new(uint64(1))
		}
		return o
	case reflect.Struct:
		return s.reference(t, path)
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	default:
		return text()
	}
}

// reference puts a struct among the definitions. One that has a short form may
// be written so. Of listeners and limits, which stand in several places, the page
// speaks once.
func (s *schemas) reference(t reflect.Type, path string) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[Listener]():
		path = "listen.*"
	case reflect.TypeFor[Limit]():
		path = "rules[].limits[]"
	}
	if s.defs[t.Name()] == nil {
		s.defs[t.Name()] = &jsonschema.Schema{} // against recursion
		o := s.object(t, path)
		for _, f := range fieldsOf(t) {
			if f.short {
				o = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s.field(f, path), o}}
			}
		}
		s.defs[t.Name()] = o
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + t.Name()}
}

func TestSchemaIsCurrent(t *testing.T) {
	data, err := json.MarshalIndent(schemaOfConfig(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, schemaFile, append(data, '\n'))
}

// asJSON is a YAML file as JSON has it; nil where it is none.
func asJSON(t *testing.T, name string) any {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if yaml.Unmarshal(data, &v) != nil {
		return nil
	}
	data, err = json.Marshal(v)
	if err != nil {
		return nil
	}
	v, err = validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// structural are the codes of what a schema can see.
var structural = [...]string{
	"unknown-field", "wrong-kind", "unknown-word", "out-of-range", "missing-version", "no-name", "no-limit", "two-limits", "empty-exempt", "empty-value",
}

// What loads passes the schema, and what a schema can see is refused by it.
func TestSchema(t *testing.T) {
	c := validator.NewCompiler()
	schema, err := c.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range texts(t, "valid") {
		if err := schema.Validate(asJSON(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused := 0
	for _, name := range texts(t, "broken") {
		_, found := loadFile(t, name)
		i := slices.IndexFunc(found, func(d Diagnostic) bool { return slices.Contains(structural[:], d.Code) && d.Line > 0 })
		base := filepath.Base(name)
		warned := strings.HasPrefix(base, "warn-")
		v := asJSON(t, name)
		switch err := schema.Validate(v); {
		case v == nil && base != "empty.yaml":
		case base == "out-of-range-duration.yaml": // a duration is a text to a schema
		case i >= 0 && err == nil:
			t.Errorf("%s passes, and does not load: %s", name, found[i].String())
		case warned && err != nil:
			t.Errorf("%s: %v", name, err)
		case i >= 0:
			refused++
		}
	}
	if refused < 15 {
		t.Errorf("only %d broken files were refused", refused)
	}
}
