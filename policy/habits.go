package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/weirhq/weir/internal/suggest"
	"github.com/weirhq/weir/policy/internal/match"
)

// This file says what was meant by fields that there are not: they are misspelt,
// stand in the wrong place, or are what another limiter's file has.

// hintFor says which field was meant by a name that is none. kind is the path of
// what holds it, without indexes.
func hintFor(kind, name string, value *yaml.Node, names []string) string {
	elsewhere, known := belongs(name)
	near := suggest.DidYouMean(name, names...)
	switch {
	case curly(name) != "":
		return curly(name) + " is no quote in YAML: write the name without"
	case habit(kind, name, value) != "":
		return habit(kind, name, value)
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
func habit(kind, name string, value *yaml.Node) string {
	name = strings.ToLower(name)
	switch {
	case kind == "rules[]" || kind == "exempt[]":
		if hint := conditionHabit(kind, name, value); hint != "" || kind == "exempt[]" {
			return hint
		}
		return ruleHabit(name)
	case strings.HasSuffix(kind, "limits[]"), strings.HasPrefix(kind, "plans."):
		if limitWord(name) {
			return "it is said in the text: `limit: 10/min burst 20`"
		}
	}
	return ""
}

// limitWord reports a word that other limiters have for what a limit's text says.
func limitWord(name string) bool {
	switch name {
	case "burst", "period", "per", "window", "interval", "unit", "algorithm", "requests", "count", "rate", "rps":
		return true
	}
	return false
}

// conditionHabit is for what rules and exemptions demand of a request.
func conditionHabit(kind, name string, value *yaml.Node) string {
	switch name {
	case "path", "paths", "route", "routes", "url", "uri", "endpoint", "prefix", "pattern", "method", "methods", "verb", "host", "hosts":
		meant := "GET /healthz"
		if kind == "rules[]" {
			meant = "POST /login"
		}
		if _, err := match.ParsePattern(value.Value); value.Kind == yaml.ScalarNode && err == nil {
			meant = value.Value
		}
		return "it is said by match: `match: " + visible(meant) + "`"
	case "ips", "cidr", "cidrs", "network", "networks", "address", "addresses", "source_ip", "remote_addr":
		return "did you mean ip?"
	}
	return ""
}

// ruleHabit is for what else rules are.
func ruleHabit(name string) string {
	switch name {
	case "rate":
		return "did you mean limit?"
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
	}
	if limitWord(name) {
		return "it is said in the limit: `limit: 10/min burst 20`"
	}
	return ""
}
