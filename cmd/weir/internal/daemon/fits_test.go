package daemon_test

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/policy"
)

// loadFor loads rules as the commands do, for a table of some size.
func loadFor(keys, rules string) (*policy.Policy, policy.Diagnostics) {
	text := "version: 1\nlisten: {http: '127.0.0.1:0'}\nmemory: {max_keys: " + keys + "}\n" + rules
	return policy.Load(policy.Source{Name: "-", Stdin: []byte(text), Fits: daemon.Fits})
}

// of gives the diagnostics of a code that have a text in them, one a line.
func of(found policy.Diagnostics, code, text string) string {
	var b strings.Builder
	for i := range found {
		if found[i].Code == code && strings.Contains(found[i].Message, text) {
			b.WriteString(found[i].String() + "\n")
		}
	}
	return b.String()
}

// rulesOf makes rules of one line each.
func rulesOf(n int, line string) string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, match: GET /r%d, %s}\n", i, i, line)
	}
	return b.String()
}

// What is kept for callers who bring limits gives way to what rules ask for.
func TestRulesMayKeepAllThatCanBeKept(t *testing.T) {
	for keys, want := range map[int]bool{43_712: true, 43_713: false} { // 64 parts of 683, and the next
		p, found := loadFor("100000", fmt.Sprintf("rules: [{name: r, limit: 5/s, max_keys: %d}]\n", keys))
		if ok := p != nil && found.Err() == nil; ok != want {
			t.Errorf("%d: accepted %t\n%s", keys, ok, of(found, "no-room", ""))
		}
	}
}

// What the store would refuse is found when the file is loaded, at its place; and when
// the remedy is followed nothing of it is left.
func TestWhatTheStoreRefusesIsFoundInTheFile(t *testing.T) {
	remedy := regexp.MustCompile(`set memory\.max_keys to (\d+)`)
	for _, c := range []struct {
		what, keys, rules string
		code, text, place string // of the first that is found
		refused           bool
	}{
		{
			"slots that need more than a part of the table has", "20000", "rules:\n  - {name: jobs, limit: 4000 concurrent}\n",
			"no-room", "one caller takes 4001 of max_keys, and each of the table's 16 parts has 547 beside what rules may keep", "stdin:5:25", true,
		},
		{
			"a log in a tiny table", "64", "rules:\n  - name: log\n    limits:\n      - 5/s\n      - {name: hour, limit: 200/h sliding-log}\n",
			"no-room", "one caller takes 61 of max_keys, and the table has 28 beside what rules may keep", "stdin:8:29", true,
		},
		{
			"limits that callers bring", "1000", rulesOf(125, "limit: 5/s"),
			"no-room", "none is left for those that callers of /v1/take bring", "stdin:3:20", true,
		},
		{
			"a plan", "5000", "plans: {free: 1/s, paid: 3000 concurrent}\nrules:\n  - {name: a, plan: {ip: {10.0.0.0/8: paid}}, default_plan: free}\n",
			"no-room", "one caller takes 3001 of max_keys", "stdin:4:26", true,
		},
		{
			"more limits than there are cells for", "1000", rulesOf(126, "limit: 5/s"),
			"no-room", "of r125, is one more than the table has room for", "stdin:130:43", true,
		},
		{
			"penalties that are too many beside their limits", "1000", rulesOf(63, "limit: 5/s block 1m"),
			"no-room", "of r62, is one more", "stdin:67:41", true,
		},
		{
			"shares that are rounded up", "100000", rulesOf(1000, "limit: 5/s, max_keys: 30"),
			"no-room", "rounded up for each part of the table", "stdin:1004:58", true,
		},
		{
			"an equal share of less than a key", "100000", "rules:\n  - {name: jobs, limit: 400 concurrent}\n  - {name: log, limit: 2000/h sliding-log}\n  - {name: all, limit: 5/s}\n",
			"little-room", "in each of its parts", "stdin:5:25", false,
		},
		{
			"a share that is asked for, of less than a key", "2000", "rules:\n  - {name: jobs, limit: 60 concurrent, max_keys: 5}\n  - {name: all, limit: 5/s, max_keys: 850}\n",
			"little-room", "in each of its parts", "stdin:5:25", false,
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			p, found := loadFor(c.keys, c.rules)
			first := of(found, c.code, c.text)
			if (p == nil) != c.refused || first == "" || !strings.HasPrefix(first, c.place) {
				t.Fatalf("refused: %v; want %s; found is\n%s", p == nil, c.place, cmp.Or(first, found.Error()))
			}
			enough := remedy.FindStringSubmatch(first)
			if enough == nil {
				t.Fatalf("no remedy: %s", first)
			}
			p, found = loadFor(enough[1], c.rules)
			if left := of(found, "no-room", "") + of(found, c.code, c.text); p == nil || left != "" {
				t.Errorf("with max_keys %s there is still\n%s", enough[1], left)
			}
		})
	}
}

// What a message says can be kept is what the store keeps, of tables of any size.
func TestWhatCanBeKeptIsKept(t *testing.T) {
	keeps := regexp.MustCompile(`and (\d+) of memory\.max_keys \d+ can be kept`)
	sizes := []int{64, 65, 99, 100, 777, 1000, 2340, 2341, 2342, 5000, 9999, 20_000, 65_535, 74_897, 74_898, 100_000, 149_797, 200_000, 437_500, 1_000_000, 1_234_567, 99_999_999, 100_000_000}
	for n := 64; n < 3_000_000; n = n*3/2 + 1 {
		sizes = append(sizes, n)
	}
	load := func(table, keys int) (*policy.Policy, policy.Diagnostics) {
		return loadFor(fmt.Sprint(table), fmt.Sprintf("rules: [{name: r, limit: 1000/s, max_keys: %d}]\n", keys))
	}
	for _, table := range sizes {
		_, found := load(table, table)
		said := keeps.FindStringSubmatch(of(found, "no-room", ""))
		if said == nil {
			t.Fatalf("%d: %v", table, found)
		}
		most, _ := strconv.Atoi(said[1])
		if p, found := load(table, most); p == nil {
			t.Errorf("%d of %d are not kept: %v", most, table, found)
		}
		if p, _ := load(table, most+1); p != nil {
			t.Errorf("%d of %d are kept as well", most+1, table)
		}
	}
}

// How many callers a rule has room for is what the store that a daemon makes keeps for it.
func TestRoomIsWhatTheStoreKeeps(t *testing.T) {
	for what, c := range map[string]struct {
		rules string
		want  []int64 // callers of each limit
	}{
		"a promise that comes to less than a key of each part": {"rules: [{name: a, limit: 100/min sliding-log, max_keys: 1}, {name: b, limit: 5/s}]\n", []int64{64, 25_152}},
		"an equal share that does":                             {"rules: [{name: a, limit: 250 concurrent}, {name: b, match: /b, limit: 5/s}, {name: c, match: /c, limit: 6/s}]\n", []int64{64, 151 * 64, 151 * 64}},
		"a promise that is rounded up":                         {"rules: [{name: a, limit: 5/s, max_keys: 65}]\n", []int64{128}},
		"what callers bring beside it":                         {"rules: [{name: a, limit: 5/s}]\n", []int64{(683 - 257) * 64}},
	} {
		p, found := loadFor("100000", c.rules)
		if p == nil {
			t.Fatalf("%s: %v", what, found)
		}
		for i, w := range p.Worst() {
			if w.Keys != c.want[i] {
				t.Errorf("%s: room for %d callers of %s, want %d", what, w.Keys, w.Text, c.want[i])
			}
		}
	}
}
