package policy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Two limits of one name are told apart by following the hint, which has the limit's own
// text in it.
func TestSameNamesOfLimits(t *testing.T) {
	flow := regexp.MustCompile(`^name this one: (\{.*\})$`)
	f := func(list, message, want string) {
		t.Helper()
		file := func(list string) string { return "version: 1\nrules:\n  - {name: api, limits: [" + list + "]}\n" }
		followed := list
		_, found := loadText(file(list))
		for _, d := range slices.Backward(found) {
			hint := flow.FindStringSubmatch(d.Hint)
			if d.Code != "duplicate-slot" || hint == nil || !strings.Contains(d.Message, message) {
				t.Fatalf("%s: %s; want %q", list, d.String(), message)
			}
			at := d.Column - 1 - strings.Index(strings.Split(file(list), "\n")[2], "[") - 1
			followed = followed[:at] + hint[1] + followed[at+d.Length:]
		}
		if followed != want {
			t.Errorf("%s, followed, is %s; want %s", list, followed, want)
		}
		if _, found := loadText(file(followed)); len(found) > 0 && found.Err() != nil {
			t.Errorf("%s, followed, is %s: %v", list, followed, found)
		}
	}
	const both, other = "both named slots unless they get names", "it is named 1m unless it gets a name"
	f("5 concurrent, 6 concurrent", both, "5 concurrent, {name: more, limit: 6 concurrent}")
	f("5 concurrent, 6 concurrent lease 30s, 7 concurrent", both, "5 concurrent, {name: more, limit: 6 concurrent lease 30s}, {name: more2, limit: 7 concurrent}")
	f("5 concurrent, 6 concurrent, {name: more, limit: 5/s}", both, "5 concurrent, {name: more2, limit: 6 concurrent}, {name: more, limit: 5/s}")
	f("10/min, 20/min fixed-window", "both named 1m unless they get names", "10/min, {name: more, limit: 20/min fixed-window}")
	f("{name: 1m, limit: 5/s}, 10/min", other, "{name: 1m, limit: 5/s}, {name: more, limit: 10/min}")
}

// Who has given one name twice has to change one.
func TestGivenNamesOfLimits(t *testing.T) {
	_, found := loadText("version: 1\nrules:\n  - {name: api, limits: [{name: x, limit: 5/s}, {name: x, limit: 10/min}]}\n")
	wantCodes(t, found, "duplicate-slot")
	if d := found[0]; d.Message != "another limit of the list is named x as well" || d.Hint != "name this one: {name: more, limit: 10/min}" {
		t.Errorf("%s; %s", d.Message, d.Hint)
	}
}
