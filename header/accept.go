package header

import "strings"

// takesJSON reports whether an Accept field admits problem+json (RFC 9110,
// section 12.5.1). No field is any type. Who takes JSON, or any type that is
// built on it, takes this one. Of the ranges that match, the most specific
// counts, and it admits unless its weight is zero.
func takesJSON(accept []string) bool {
	stated, best, admitted := false, 0, false
	for _, line := range accept {
		for more := line != ""; more; {
			var element string
			element, line, more = cut(line, ',')
			name, parameters, _ := cut(element, ';')
			name = strings.Trim(name, " \t")
			stated = stated || name != ""
			rank := matches(name)
			if rank == 0 || rank < best {
				continue
			}
			admitted = admitted && rank == best || !weightless(parameters)
			best = rank
		}
	}
	return !stated || admitted
}

// matches ranks a media range by how closely it fits problem+json, 0 when it
// does not.
func matches(name string) int {
	switch {
	case strings.EqualFold(name, "application/problem+json"):
		return 4
	case strings.EqualFold(name, "application/json") || suffixed(name, "+json"):
		return 3
	case strings.EqualFold(name, "application/*"):
		return 2
	case name == "*/*" || name == "*": // old Java clients send the short form
		return 1
	}
	return 0
}

func suffixed(name, suffix string) bool {
	n := len(name) - len(suffix)
	return n > 0 && strings.EqualFold(name[n:], suffix)
}

// weightless reports whether parameters hold a q of zero: 0, 0.0, 0.00 or
// 0.000. What is no number is no zero.
func weightless(parameters string) bool {
	for more := true; more; {
		var parameter string
		parameter, parameters, more = cut(parameters, ';')
		key, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.Trim(key, " \t"), "q") {
			value = strings.Trim(value, " \t")
			return strings.HasPrefix(value, "0") && strings.Trim(value, "0.") == ""
		}
	}
	return false
}

// lists reports whether the lines of a list hold name, or the star that stands
// for all names.
func lists(lines []string, name string) bool {
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			element = strings.Trim(element, " \t")
			if element == "*" || strings.EqualFold(element, name) {
				return true
			}
		}
	}
	return false
}

// cut splits s at the first separator outside a quoted string.
func cut(s string, separator byte) (before, after string, found bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
