package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// What is said of a limit's room is a sentence, whatever the numbers are.
func TestRoomInWords(t *testing.T) {
	f := func(keys int64, pinned time.Duration, holds, room string) {
		t.Helper()
		w := tightness{WorstCase: WorstCase{Text: "5/s", Keys: keys, PinnedOne: pinned, PinnedFull: pinned}, widest: weir.MustLimit("a", "5/s")}
		if got := w.holds(); got != holds {
			t.Errorf("%d for %s: got %s, want %s", keys, pinned, got, holds)
		}
		if got := w.Room(); !strings.HasPrefix(got, room) {
			t.Errorf("%d for %s: got %s, want %s", keys, pinned, got, room)
		}
	}
	const week, day = 7 * 24 * time.Hour, 24 * time.Hour
	f(0, time.Hour, "has room for no caller: those who come may", "room for no caller")
	f(1, time.Hour, "has room for 1 caller, each for 1h or longer: if more than 24 new ones a day come, those without room may", "room for 1 caller (")
	f(1, day, "has room for 1 caller, each for 1d or longer: if more than 1 new one a day comes, those without room may", "room for 1 caller (")
	f(3, week, "has room for 3 callers, each for 7d or longer: if more new ones come in that time, those without room may", "room for 3 callers (")
	f(4000, time.Second, "has room for 4,000 callers, each for 1s or longer: if more than 4,000 new ones a second come, those without room may", "room for 4,000 callers (")
}

// A rule wants room for each of its plans, and no table is offered where none is enough.
func TestSizesOfSmallRooms(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"the largest plan", `
version: 1
memory: {max_keys: 2000}
plans: {free: 100/s, paid: [100/h sliding-log, 20/s]}
rules:
  - {name: a, plan: {ip: {192.0.2.0/24: paid}}, default_plan: free, max_keys: 500}
`, "set memory.max_keys to 1000000 and rule a's max_keys to 340000"},
		{"more than the largest table", `
version: 1
rules:
  - {name: a, limit: 4095/h sliding-log, match: /a}
  - {name: b, limit: 4095/h sliding-log, match: /b}
  - {name: c, limit: 4095/h sliding-log, match: /c}
  - {name: d, limit: 4095/h sliding-log, match: /d}
`, "no table has so much room, the largest is memory.max_keys 100000000: lower the limit's count, or accept that"},
		{"where an equal share is too little", `
version: 1
rules:
  - {name: a, limit: 4095/h sliding-log, match: /a}
  - {name: b, limit: 9/s, match: /b}
  - {name: c, limit: 9/s, match: /c}
  - {name: d, limit: 9/s, match: /d}
`, "set memory.max_keys to 30000000 and the rule's max_keys to 11730000"},
	} {
		_, found := loadText(c.text)
		got := ""
		for _, d := range found {
			if d.Code == "little-room" {
				got = d.Hint
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q of %v", c.what, got, c.want, found)
		}
	}
}

// The limit that is named is the one that takes most of the room, at its own place.
func TestWhichLimitIsBlamed(t *testing.T) {
	for _, c := range []struct{ what, rule, limit, begins string }{
		{"a log among others", "limits: [100/min, 20000/day sliding-window, {name: x, limit: 4095/min sliding-log}]", "4095/min sliding-log", "limit 4095/min sliding-log has room for "},
		{"slots, of which alone there would be enough", "limits: [10 concurrent, 5/s], max_keys: 1", "10 concurrent", "limit 10 concurrent leaves 5/s room for no caller: those who come may "},
		{"a large list beside a smaller", "limits: [2/h sliding-log, 100/min sliding-log], max_keys: 5000", "100/min sliding-log", "limit 100/min sliding-log has "},
		{"of those that take as much the one that lacks most", "limits: [100/s, 5/day], max_keys: 5000", "5/day", "limit 5/day has room for 2,5"},
		{"one alone", "limit: 5/day, max_keys: 5000", "5/day", "limit 5/day has room for 5,0"},
	} {
		text := "version: 1\nrules: [{name: a, " + c.rule + "}]\n"
		_, found := loadText(text)
		if len(found) != 1 || found[0].Code != "little-room" || !strings.HasPrefix(found[0].Message, c.begins) {
			t.Errorf("%s: %v", c.what, found)
			continue
		}
		d := found[0]
		if got := d.Text[d.Column-1 : d.Column-1+d.Length]; got != c.limit {
			t.Errorf("%s: the caret is under %q", c.what, got)
		}
	}
}
