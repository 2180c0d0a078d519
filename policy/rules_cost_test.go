package policy

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// What is said to be larger is something that the limit has, and with it the cost passes.
func TestWhatALargerCostNeeds(t *testing.T) {
	const cost = 6
	for _, c := range []struct{ limit, hint, followed string }{
		{"5/s", "a larger burst", "5/s burst 6"},
		{"5/s burst 4", "a larger burst", "5/s burst 6"},
		{"5/s fixed-window", "a larger count", "6/s fixed-window"},
		{"5/s sliding-window", "a larger count", "6/s sliding-window"},
		{"5/min sliding-log", "a larger count", "6/min sliding-log"},
		{"5/day calendar Europe/Berlin", "a larger count", "6/day calendar Europe/Berlin"},
		{"1/s leaky-bucket wait 2s", "a longer wait", "1/s leaky-bucket wait 5s"},
		{"1/s leaky-bucket queue 2", "a larger queue", "1/s leaky-bucket queue 5"},
		{"1/s leaky-bucket queue 2 wait 5s", "a larger queue", "1/s leaky-bucket queue 5 wait 5s"},
		{"1/s leaky-bucket queue 5 wait 2s", "a longer wait", "1/s leaky-bucket queue 5 wait 5s"},
		{"1/s leaky-bucket queue 3 wait 2s", "a larger queue and a longer wait", "1/s leaky-bucket queue 5 wait 5s"},
	} {
		for _, text := range []string{c.limit, c.followed} {
			_, found := loadText(fmt.Sprintf("version: 1\nrules: [{name: a, limit: %s, cost: %d}]\n", text, cost))
			refused := slices.Contains(codes(found), "cost-never-passes")
			switch {
			case refused != (text == c.limit):
				t.Errorf("%s: %v", text, found)
			case refused && found[0].Hint != "write a lower cost, or "+c.hint:
				t.Errorf("%s: %s", text, found[0].Hint)
			}
		}
	}
}

// Limits that stand twice may be meant once or twice: either way that the hint says is
// taken.
func TestOneLimitTwice(t *testing.T) {
	for _, text := range []string{"5/s, 5/s", "5/s, 300/min, 5 per 1s"} {
		_, found := loadText("version: 1\nrules: [{name: a, limits: [" + text + "]}]\n")
		if len(found) != 1 || found[0].Code != "duplicate-slot" {
			t.Fatalf("%s: %v", text, found)
		}
		m := regexp.MustCompile(`^leave it out, or name this one: (\{name: \w+, limit: .*\})$`).FindStringSubmatch(found[0].Hint)
		if m == nil {
			t.Fatalf("%s: %s", text, found[0].Hint)
		}
		d := found[0]
		for _, instead := range []string{"", m[1]} {
			line := d.Text[:d.Column-1] + instead + d.Text[d.Column-1+d.Length:]
			_, found := loadText("version: 1\n" + regexp.MustCompile(`, (?:, )*\]`).ReplaceAllString(line, "]"))
			if found.Err() != nil {
				t.Errorf("%s\n%v", line, found)
			}
		}
	}
	_, found := loadText("version: 1\nrules: [{name: a, limits: [5/s, 6/s]}]\n")
	if len(found) != 1 || found[0].Hint != "name this one: {name: more, limit: 6/s}" {
		t.Errorf("two that differ: %v", found)
	}
}
