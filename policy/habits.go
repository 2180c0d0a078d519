package policy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/weirhq/weir/internal/suggest"
	"github.com/weirhq/weir/policy/internal/match"
)

// This file says what was meant by fields that there are not: they are misspelt,
// stand in the wrong place, or are what another limiter's file has.

// hintFor says which field was meant by a name that is none. kind is the path of
// what holds it, n, without indexes.
func hintFor(kind string, n *yaml.Node, name string, value *yaml.Node, names []string) string {
	elsewhere, known := belongs(name)
	near := suggest.DidYouMean(name, names...)
	switch {
	case curly(name) != "":
		return curly(name) + " is no quote in YAML: write the name without"
	case habit(kind, n, name, value) != "":
		return habit(kind, n, name, value)
	case plural(name, names) != "":
		return "did you mean " + plural(name, names) + "?"
	case known:
		return "it belongs " + elsewhere
	case near != "":
		return near
	}
	return "the fields here are " + strings.Join(names, ", ")
}

// plural is the name that differs from another by its last s alone.
func plural(name string, names []string) string {
	i := slices.IndexFunc(names, func(n string) bool { return n == name+"s" || n+"s" == name })
	if i < 0 {
		return ""
	}
	return names[i]
}

// habit answers who writes what another limiter's file has.
func habit(kind string, n *yaml.Node, name string, value *yaml.Node) string {
	name = strings.ToLower(name)
	switch {
	case kind == "exempt[]":
		return conditionHabit(kind, name, value)
	case kind == "rules[]":
		return cmp.Or(conditionHabit(kind, name, value), ruleHabit(name), limitHabit(n, name, value))
	case strings.HasSuffix(kind, "limits[]"), strings.HasPrefix(kind, "plans"):
		return limitHabit(n, name, value)
	}
	return ""
}

// conditionHabit is for what rules and exemptions demand of a request.
func conditionHabit(kind, name string, value *yaml.Node) string {
	switch name {
	case "path", "paths", "route", "routes", "url", "uri", "endpoint", "prefix", "pattern", "method", "methods", "verb", "host", "hosts":
		return matchHint(kind, name, value)
	case "ips", "cidr", "cidrs", "network", "networks", "address", "addresses", "source_ip", "remote_addr":
		return "did you mean ip?"
	}
	return ""
}

// matchHint says by which patterns a field is said, or gives an example where none
// can be made of its value.
func matchHint(kind, name string, value *yaml.Node) string {
	meant, ok := patternsMeant(name, value)
	switch {
	case !ok:
		return "it is said by match, such as `match: " + examplePattern(kind, name) + "`"
	case unfinished(name):
		return "it is said by match, in front of a path: `match: " + visible(meant) + "`"
	}
	return "it is said by match: `match: " + visible(meant) + "`"
}

// unfinished reports a field whose pattern lacks the path.
func unfinished(name string) bool { return name == "method" || name == "methods" || name == "verb" }

// patternsMeant writes the value of a field, one text or a list of them, as match has
// it. It reports false where that is not possible.
func patternsMeant(name string, value *yaml.Node) (text string, ok bool) {
	if value.Kind == yaml.ScalarNode {
		return patternMeant(name, value.Value)
	}
	if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
		return "", false
	}
	list := make([]string, len(value.Content))
	for i, n := range value.Content {
		if list[i], ok = patternMeant(name, n.Value); !ok || n.Kind != yaml.ScalarNode {
			return "", false
		}
		if strings.ContainsAny(list[i], "{}[],") { // which would end it, in a list on one line
			list[i] = strconv.Quote(list[i])
		}
	}
	return "[" + strings.Join(list, ", ") + "]", true
}

// patternMeant is the pattern that fits what a field demands: a prefix has all below
// it, a host every path. Three dots, which are no path, stand where one is to be
// written.
func patternMeant(name, text string) (pattern string, ok bool) {
	pattern = text
	switch {
	case unfinished(name):
		_, err := match.ParsePattern(strings.ToUpper(text) + " /")
		return strings.ToUpper(text) + " /…", err == nil
	case name == "prefix" && !strings.HasSuffix(text, "/"),
		(name == "host" || name == "hosts") && !strings.Contains(text, "/"):
		pattern += "/"
	}
	_, err := match.ParsePattern(pattern)
	return pattern, err == nil
}

// examplePattern is one for a field whose value is no pattern.
func examplePattern(kind, name string) string {
	switch {
	case name == "prefix":
		return "/api/"
	case name == "host" || name == "hosts":
		return "api.example/"
	case kind == "rules[]":
		return "POST /login"
	}
	return "GET /healthz"
}

// ruleHabit is for what else rules are.
func ruleHabit(name string) string {
	switch name {
	case "by", "keys", "identifier", "source":
		return "did you mean key?"
	case "id", "title", "label":
		return "did you mean name?"
	case "mode", "dry_run", "dryrun":
		return "did you mean `shadow: true`?"
	case "enabled", "disabled", "active":
		return "with `shadow: true` a rule refuses nobody; to switch it off leave the rule out"
	case "action", "on_limit", "effect":
		return "what is over a limit is refused; `limit: deny` refuses everything, `limit: unlimited` nothing"
	case "message", "response", "body":
		return "did you mean `refuse: {detail: …}`?"
	case "priority", "order", "weight":
		return "rules have no order: all that match apply together"
	case "description", "comment", "note":
		return "write it as a comment, behind #"
	case "tag", "tags":
		return "rules have a name and no tags: write it as a comment, behind #"
	}
	return ""
}
