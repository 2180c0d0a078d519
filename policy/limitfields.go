package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// This file says which limit was meant by fields such as {rate: 5, per: 1m}: what other
// limiters' files have as fields of their own is one text here.

// limitFields are what such fields say, in the order of a limit's text. An example of it
// stands behind others, or alone.
var limitFields = [...]struct {
	says            string
	names           []string
	behind, example string
}{
	{"count", []string{"rate", "limit", "count", "requests", "max", "average", "requests_per_unit"}, "", "10/min"},
	{"period", []string{"per", "period", "window", "interval", "unit"}, "10", "min"},
	{"concurrent", []string{"concurrent", "concurrency", "slots"}, "", "10"},
	{"algorithm", []string{"algorithm"}, "10/min", "sliding-window"},
	{"burst", []string{"burst"}, "10/min", "20"},
	{"overdraft", []string{"overdraft"}, "10/min", "500"},
	{"wait", []string{"wait"}, "10/s leaky-bucket", "2s"},
	{"queue", []string{"queue"}, "10/s leaky-bucket", "20"},
	{"calendar", []string{"calendar", "timezone"}, "10/day", "Europe/Berlin"},
	{"spread", []string{"spread"}, "10/min fixed-window", "true"},
	{"lease", []string{"lease"}, "10 concurrent", "30s"},
	{"block", []string{"block", "ban", "penalty"}, "10/min", "5m"},
}

// limitField is the place among limitFields of what a field's name says; -1 for none.
func limitField(name string) int {
	name = strings.ToLower(name)
	for i := range limitFields {
		if slices.Contains(limitFields[i].names, name) {
			return i
		}
	}
	return -1
}

// limitHabit answers who writes a part of a limit as a field of its own, beside the others
// of a mapping: by the whole limit where it is plain, else by an example.
func limitHabit(n *yaml.Node, name string, value *yaml.Node) string {
	i := limitField(name)
	if i < 0 || strings.EqualFold(name, "limit") {
		return ""
	}
	if text, _ := limitSaid(n); text != "" {
		return "it is said in the limit: `limit: " + text + "`"
	}
	f := limitFields[i]
	with := func(text string) string {
		said := map[string]string{"count": f.behind}
		said[f.says] = text
		return limitText(said)
	}
	text := with(value.Value)
	if text == "" || value.Kind != yaml.ScalarNode {
		text = with(f.example)
	}
	if f.says == "concurrent" || f.says == "lease" {
		return "it is said in a limit of its own, such as `limit: " + text + "`; several are a list"
	}
	return "it is said in the limit, such as `limit: " + text + "`"
}

// meantLimit is the limit that was meant by a mapping such as {rate: 5, per: 1m}, if all
// of it is plain.
func meantLimit(n *yaml.Node) string {
	if text, others := limitSaid(n); text != "" && !others {
		return "write `limit: " + text + "`"
	}
	return "write a text such as `limit: 10/min burst 20`"
}

// limitSaid is the limit that fields of a mapping say together, "" where that is not
// plain; others says that there are fields which say nothing of it.
func limitSaid(n *yaml.Node) (text string, others bool) {
	said := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := limitField(key.Value)
		if at < 0 {
			others = true
			if key.Value == "limits" || key.Value == "plan" {
				return "", others // in the place of which there is no limit
			}
			continue
		}
		says := limitFields[at].says
		if said[says] != "" || value.Kind != yaml.ScalarNode || value.Value == "" {
			return "", others
		}
		said[says] = value.Value
	}
	return limitText(said), others
}

// limitText is the limit of which each part is said apart, as its text has it; "" where
// they make none.
func limitText(said map[string]string) string {
	var words []string
	for _, f := range limitFields[3:] { // behind what a limit begins with
		switch v := said[f.says]; {
		case v == "" || f.says == "spread" && v == "false":
		case f.says == "spread" && v == "true":
			words = append(words, f.says)
		case f.says == "algorithm":
			words = append(words, strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(v)))
		default:
			words = append(words, f.says, v)
		}
	}
	ends := " " + strings.Join(words, " ")
	for _, begins := range limitBeginnings(said) {
		for _, text := range [...]string{begins + ends, begins + " leaky-bucket" + ends} { // wait and queue are its alone
			if spec, err := specOf(text); err == nil {
				return spec.String()
			}
		}
	}
	return ""
}

// limitBeginnings are how the text of a limit may begin.
func limitBeginnings(said map[string]string) []string {
	count, period, slots := said["count"], said["period"], said["concurrent"]
	if !strings.ContainsAny(period, "0123456789") { // as of SECOND; who knows of 1M
		period = strings.ToLower(period)
	}
	switch {
	case slots != "" && count+period == "":
		return []string{slots + " concurrent"}
	case slots != "":
		return nil
	case period == "":
		return []string{count}
	}
	return []string{count + "/" + period, count + " per " + period}
}
