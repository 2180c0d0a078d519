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
// another that refuses it; all of them together to one that loads, and what is said of
// that to one that has room for everything.
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
			way := f.follow(t, true, true, said...)
			p, after := way.load()
			if p == nil {
				t.Errorf("with all hints followed: %v, of\n%v", after, found)
			}
			if _, last := way.follow(t, true, true, inRoom(after)...).load(); len(inRoom(last)) > 0 {
				t.Errorf("with all hints followed twice: %v, of\n%v", last, found)
			}
			for _, d := range said {
				ways := []roomFile{f.follow(t, true, true, d)}
				if strings.Contains(d.Hint, ", or the rule's") {
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

// Whatever a file is, all warnings about room name one size of the table, and no error
// names a larger one. A file that follows them all loads, and has room for everything when
// what is said of it then is followed, but for what no table is large enough for.
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
		oneSize(rt, said)
		for _, ways := range []func([]policy.Diagnostic) []policy.Diagnostic{firstWays, secondWays} {
			way := f.follow(rt, true, true, ways(said)...)
			p, after := way.load()
			if p == nil {
				rt.Fatalf("of\n%v\nthere is left\n%v", found, after)
			}
			_, last := way.follow(rt, true, true, ways(inRoom(after))...).load()
			if left := ways(inRoom(last)); len(left) > 0 {
				rt.Fatalf("of\n%v\nand then\n%v\nthere is left\n%v", found, after, last)
			}
		}
	})
}

// oneSize holds that warnings name one size of the table, and errors one that is no larger.
func oneSize(t rapid.TB, said []policy.Diagnostic) {
	t.Helper()
	sizes := map[policy.Severity]int{}
	for _, d := range said {
		m := sizeOfTable.FindStringSubmatch(d.Hint)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if had := sizes[d.Severity]; had != 0 && had != n {
			t.Fatalf("several sizes are named:\n%v", said)
		}
		sizes[d.Severity] = n
	}
	if warned := sizes[policy.Warning]; warned != 0 && sizes[policy.Error] > warned {
		t.Fatalf("an error names a larger table than a warning:\n%v", said)
	}
}

// noTable reports a hint that names no size since none is enough for the whole file.
func noTable(hint string) bool {
	return strings.HasPrefix(hint, "no table has so much room") || hint == "lower its count"
}

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
		if at := strings.Index(d.Hint, ", or the rule's"); at >= 0 {
			d.Hint = d.Hint[at:]
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

// What is refused for its room is told the least round size that lifts it, however much
// room for callers the rules lack beside; of a sliding log also what takes less.
func TestErrorsNameTheLeastTable(t *testing.T) {
	log := func(keys int) roomRule { return roomRule{"4000/h sliding-log", keys} }
	for what, f := range map[string]roomFile{
		"one log":                     {table: 100_000, rules: []roomRule{log(0)}},
		"logs that no table is for":   {table: 100_000, rules: []roomRule{log(1000), log(1000), log(1000), log(1000), log(1000), log(1000)}},
		"slots":                       {table: 20_000, rules: []roomRule{{"4000 concurrent", 0}}},
		"rules that keep too much":    {table: 1000, rules: []roomRule{{"1/s", 400}, {"2/s", 400}}},
		"a log and too much together": {table: 1000, rules: []roomRule{{"1/s", 800}, log(0)}},
	} {
		t.Run(what, func(t *testing.T) {
			_, found := f.load()
			said := slices.DeleteFunc(inRoom(found), func(d policy.Diagnostic) bool { return d.Severity != policy.Error })
			if len(said) == 0 {
				t.Fatalf("nothing is refused: %v", found)
			}
			least := f.follow(t, true, false, said...)
			if p, after := least.load(); p == nil {
				t.Errorf("with %d: %v", least.table, after)
			}
			for power := 100; power < least.table; power *= 10 {
				for _, n := range [...]int{power, 2 * power, 3 * power, 5 * power} {
					if p, _ := (roomFile{table: n, rules: f.rules}).load(); p != nil && n > f.table && n < least.table {
						t.Errorf("%d is enough, and %d was named", n, least.table)
					}
				}
			}
			for _, d := range said {
				log := strings.HasPrefix(d.Message, "limit ") && strings.Contains(d.Message, "sliding-log")
				if strings.HasSuffix(d.Hint, ", or write sliding-window, which takes no such room") != log {
					t.Error(d.String())
				}
				at, _ := strconv.Atoi(ruleOf.FindStringSubmatch(d.Path)[1])
				windows := f
				windows.rules = slices.Clone(f.rules)
				windows.rules[at].limits = strings.Replace(f.rules[at].limits, "sliding-log", "sliding-window", 1)
				_, after := windows.load()
				if log && slices.ContainsFunc(after, func(o policy.Diagnostic) bool { return o.Code == d.Code && o.Path == d.Path }) {
					t.Errorf("with sliding-window: %v", after)
				}
			}
		})
	}
}
