package daemon_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/policy"
)

// The sizes that a hint about room says to write, and the rule that it is about.
var (
	sizeOfTable = regexp.MustCompile(`set memory\.max_keys to (\d+)`)
	sizeOfRule  = regexp.MustCompile(`the rule's max_keys to (\d+)`)
	ruleOf      = regexp.MustCompile(`^rules\[(\d+)\]`)
)

// roomFile is a rules file as far as it is about room.
type roomFile struct {
	table  int // memory.max_keys; 0 for none
	listen string
	rules  []roomRule
}

type roomRule struct {
	limits string
	keys   int // max_keys; 0 for none
}

func (f roomFile) load() (*policy.Policy, policy.Diagnostics) {
	var b strings.Builder
	b.WriteString("version: 1\n" + f.listen + "\n")
	if f.table > 0 {
		fmt.Fprintf(&b, "memory: {max_keys: %d}\n", f.table)
	}
	b.WriteString("rules:\n")
	for i, r := range f.rules {
		own := ""
		if r.keys > 0 {
			own = fmt.Sprintf(", max_keys: %d", r.keys)
		}
		fmt.Fprintf(&b, "  - {name: r%d, match: GET /r%d, limits: [%s]%s}\n", i, i, r.limits, own)
	}
	return policy.Load(policy.Source{Name: "-", Stdin: []byte(b.String()), Fits: daemon.Fits})
}

// follow writes what hints say.
func (f roomFile) follow(t rapid.TB, table, rule bool, found ...policy.Diagnostic) roomFile {
	t.Helper()
	size := func(of *regexp.Regexp, hint string) int {
		m := of.FindStringSubmatch(hint)
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	f.rules = slices.Clone(f.rules)
	for _, d := range found {
		if n := size(sizeOfTable, d.Hint); n > 0 && table {
			f.table = max(f.table, n)
		}
		if n := size(sizeOfRule, d.Hint); n > 0 && rule {
			i, _ := strconv.Atoi(ruleOf.FindStringSubmatch(d.Path)[1])
			f.rules[i].keys = n
		}
		if size(sizeOfTable, d.Hint)+size(sizeOfRule, d.Hint) == 0 {
			t.Errorf("the hint names no size: %s", d.String())
		}
	}
	return f
}

// inRoom are the findings about room.
func inRoom(found policy.Diagnostics) (list []policy.Diagnostic) {
	for _, d := range found {
		if d.Code == "no-room" || d.Code == "little-room" {
			list = append(list, d)
		}
	}
	return list
}

// A hint about room that is followed leads to a file without that finding, and without
// another that refuses it; so do all of them together.
func TestRemediesOfRoomWork(t *testing.T) {
	const ask = "listen: {http: '127.0.0.1:0'}"
	log := roomRule{limits: "4095/h sliding-log"}
	for what, f := range map[string]roomFile{
		"a large log":                     {rules: []roomRule{log}},
		"a large log beside others":       {rules: []roomRule{log, {"5/h", 0}, {"5/h", 0}, {"5/h", 0}}},
		"a log and a listener":            {listen: ask, rules: []roomRule{log}},
		"a block in the smallest table":   {table: 64, rules: []roomRule{{"5/min block 10m", 0}}},
		"a log in a small table":          {table: 1000, rules: []roomRule{{"100/h sliding-log", 0}}},
		"two limits and a block":          {table: 5000, rules: []roomRule{{"5/s, 3/min block 1m", 0}}},
		"two limits that keep something":  {rules: []roomRule{{"5/s, 3/min block 1m", 300}}},
		"a rule that keeps too much":      {table: 1000, rules: []roomRule{{"5/s", 500}}},
		"many that keep too much":         {listen: ask, table: 1000, rules: []roomRule{{"5/s", 300}, {"5/s", 1}, {"5/s", 300}, {"5/s", 70000}}},
		"one that keeps little":           {rules: []roomRule{{"10/h", 100}}},
		"several that keep little":        {table: 20000, rules: []roomRule{{"10/h", 100}, {"20/h", 50}, {"9/s", 10}, {"5/s", 0}}},
		"one that keeps little and fits":  {table: 20000, rules: []roomRule{{"9/s", 10}, {"3/min block 1m", 0}}},
		"a log that no part has room for": {table: 64, rules: []roomRule{{"50/h sliding-log", 0}, {"5/min block 10m", 0}, {"10/h sliding-log", 0}}},
		"slots in a small part":           {table: 20000, rules: []roomRule{{"4000 concurrent", 0}, {"5/s", 0}}},
		"slots of less than a share":      {table: 100000, rules: []roomRule{{"400 concurrent", 0}, {"2000/h sliding-log", 0}, {"5/s", 0}}},
	} {
		t.Run(what, func(t *testing.T) {
			_, found := f.load()
			said := inRoom(found)
			if len(said) == 0 {
				t.Fatalf("nothing was found: %v", found)
			}
			p, after := f.follow(t, true, true, said...).load()
			if left := inRoom(after); p == nil || len(left) > 0 {
				t.Errorf("with all hints followed: %v, of\n%v", after, found)
			}
			for _, d := range said {
				ways := []roomFile{f.follow(t, true, true, d)}
				if strings.Contains(d.Hint, ", or ") {
					ways = []roomFile{f.follow(t, true, false, d), f.follow(t, false, true, d)}
				}
				for _, way := range ways {
					_, after := way.load()
					still := func(o policy.Diagnostic) bool { return o.Code == d.Code && o.Path == d.Path }
					if slices.ContainsFunc(after, still) || d.Severity == policy.Warning && len(said) == 1 && after.Err() != nil {
						t.Errorf("%s\nfollowed:\n%v", d.String(), after)
					}
				}
			}
		})
	}
}

// Whatever a file is, all hints about room name one size of the table, and a file that
// follows them all has room for everything, but for what no table is large enough for.
func TestRemediesOfRoomWorkTogether(t *testing.T) {
	limits := []string{
		"5/s", "1000/day fixed-window", "30/min sliding-window", "4095/min sliding-log", "10/min sliding-log", "100/day sliding-log",
		"5 concurrent", "4095 concurrent", "5/min block 10m", "10/h, 20/s", "10 concurrent, 5/s", "unlimited",
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := roomFile{
			table:  rapid.SampledFrom([]int{0, 64, 65, 200, 1000, 5000, 10_000, 100_000, 3_000_000, 100_000_000}).Draw(rt, "table"),
			listen: rapid.SampledFrom([]string{"", "listen: {http: '127.0.0.1:0'}"}).Draw(rt, "listen"),
		}
		for range rapid.IntRange(1, 8).Draw(rt, "rules") {
			f.rules = append(f.rules, roomRule{
				limits: rapid.SampledFrom(limits).Draw(rt, "limits"),
				keys:   rapid.SampledFrom([]int{0, 0, 0, 1, 64, 1000, 20_000, 500_000}).Draw(rt, "keys"),
			})
		}
		_, found := f.load()
		said := inRoom(found)
		tables := map[string]bool{}
		for _, d := range said {
			if m := sizeOfTable.FindStringSubmatch(d.Hint); m != nil {
				tables[m[1]] = true
			}
		}
		if len(tables) > 1 {
			rt.Fatalf("several sizes are named:\n%v", found)
		}
		for _, way := range []roomFile{f.follow(rt, true, true, firstWays(said)...), f.follow(rt, true, true, secondWays(said)...)} {
			p, after := way.load()
			left := slices.DeleteFunc(inRoom(after), func(d policy.Diagnostic) bool { return noTable(d.Hint) })
			if p == nil || len(left) > 0 {
				rt.Fatalf("of\n%v\nthere is left\n%v", found, after)
			}
		}
	})
}

// noTable reports a hint that names no size since none is enough.
func noTable(hint string) bool { return strings.HasPrefix(hint, "no table has so much room") }

// firstWays are findings whose hints say only the first of what they offer, and
// secondWays those that say only the last.
func firstWays(said []policy.Diagnostic) (list []policy.Diagnostic) {
	for _, d := range said {
		if !noTable(d.Hint) {
			d.Hint, _, _ = strings.Cut(d.Hint, ", or ")
			list = append(list, d)
		}
	}
	return list
}

func secondWays(said []policy.Diagnostic) (list []policy.Diagnostic) {
	for _, d := range said {
		if noTable(d.Hint) {
			continue
		}
		if _, last, both := strings.Cut(d.Hint, ", or "); both {
			d.Hint = last
		}
		list = append(list, d)
	}
	return list
}

// Of the room of a rule that is refused nothing else is said.
func TestRoomIsSaidOnce(t *testing.T) {
	_, found := roomFile{table: 64, rules: []roomRule{{"50/h sliding-log", 0}, {"10/h sliding-log", 0}, {"5/h", 0}, {"6/h", 0}, {"7/h", 0}}}.load()
	var got []string
	for _, d := range inRoom(found) {
		got = append(got, d.Path+" "+d.Code)
		if strings.Contains(d.Message, " 0 ") || strings.Contains(d.Message, " 1 callers") {
			t.Error(d.Message)
		}
	}
	if want := "rules[0].limits[0] no-room"; len(got) == 0 || got[0] != want || strings.Contains(strings.Join(got[1:], " "), "rules[0]") {
		t.Errorf("got %q", got)
	}
}
