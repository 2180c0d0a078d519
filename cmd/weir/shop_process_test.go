package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/storetest"
)

// A visit is one line of a shop's access log.
type visit struct {
	caller         netip.Addr
	method, target string // as they were sent
	agent          string
}

// path is the target without its query.
func (v visit) path() string { return strings.SplitN(v.target, "?", 2)[0] }

var combined = regexp.MustCompile(`^(\S+) \S+ \S+ \[[^]]+\] "([A-Z]+) (\S+) HTTP/1\.1" \d+ \d+ "[^"]*" "([^"]*)"`)

// visits reads a thousand requests of a shop.
func visits(t *testing.T) []visit {
	t.Helper()
	f, err := os.Open("../../examples/api/testdata/shop-access.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []visit
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		m := combined.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("line %d cannot be read", len(list)+1)
		}
		list = append(list, visit{netip.MustParseAddr(m[1]), m[2], m[3], m[4]})
	}
	if err := lines.Err(); err != nil || len(list) != 1000 {
		t.Fatalf("%d lines, error %v; want 1000", len(list), err)
	}
	return list
}

// An applied is a limit that a rules file puts on a visit.
type applied struct {
	limit  *weir.Limit
	caller string // who is counted, in words of the test
	shadow bool
}

// A shop is one rules file, and what it says, written once more.
type shop struct {
	file    string
	applies func(v visit) []applied
	refuse  []string       // the limits that must refuse some
	status  map[string]int // of refusals that are told otherwise, by rule
}

func shops() []shop {
	everything, pictures := weir.MustLimit("everything", "30/min burst 50"), weir.MustLimit("pictures", "5/s burst 28")
	guestS, guestH := weir.MustLimit("site/1s", "20/s burst 60"), weir.MustLimit("site/1h", "45/h fixed-window")
	partner, crawler := weir.MustLimit("site/1h", "500/h fixed-window"), weir.MustLimit("site/1d", "20/day calendar Europe/Berlin")
	trial := weir.MustLimit("trial", "5/h burst 5")
	network, filters := weir.MustLimit("network", "200/h burst 200"), weir.MustLimit("filters", "30/min burst 150")
	browserB, browserD := weir.MustLimit("browser/burst", "5/s burst 32"), weir.MustLimit("browser/1d", "60/day fixed-window")

	reads := func(v visit) bool { return v.method == "GET" || v.method == "HEAD" }
	under := func(v visit, prefixes ...string) bool {
		for _, p := range prefixes {
			if reads(v) && (strings.HasPrefix(v.path(), p+"/") || v.path() == p) {
				return true
			}
		}
		return false
	}
	return []shop{
		{file: "buckets", refuse: []string{"everything", "pictures"}, applies: func(v visit) []applied {
			ip := v.caller.String()
			list := []applied{{everything, ip, false}}
			if under(v, "/image") {
				list = append(list, applied{pictures, ip, false})
			}
			return list
		}},
		{file: "windows", refuse: []string{"site/1h"}, applies: func(v visit) []applied {
			ip, last := v.caller.String(), v.caller.As4()[3]
			list := []applied{{guestS, ip, false}, {guestH, ip, false}}
			switch {
			case last == 2:
				list = []applied{{crawler, ip, false}}
			case last == 6 || last >= 8 && last <= 15:
				list = []applied{{partner, ip, false}}
			}
			if under(v, "/product", "/filter") {
				list = append(list, applied{trial, ip, true})
			}
			return list
		}},
		{file: "networks", refuse: []string{"network", "filters", "browser/burst"}, status: map[string]int{"filters": 503}, applies: func(v visit) []applied {
			if under(v, "/static") || reads(v) && v.path() == "/favicon.ico" {
				return nil
			}
			net := netip.PrefixFrom(v.caller, 28).Masked().String()
			list := []applied{{network, net, false}}
			if under(v, "/filter") {
				list = append(list, applied{filters, "all", false})
			}
			if segments := strings.Split(strings.Trim(v.path(), "/"), "/"); under(v, "/image") && len(segments) == 4 {
				list = append(list, applied{browserB, net + v.agent, false}, applied{browserD, net + v.agent, false})
			}
			return list
		}},
	}
}

// The log's requests through the built daemon to a real upstream, each answer
// compared with what the oracle says at the instant that the answer names.
func TestProcessShopLogIsLimitedAsTheOracleSays(t *testing.T) {
	log, program := visits(t), build(t)
	for _, s := range shops() {
		t.Run(s.file, func(t *testing.T) {
			upstream, seen := upstreamOf(t)
			p := serving(t, program, "testdata/shop", []string{"WEIR_UPSTREAM=" + upstream}, s.file+".yaml")
			c := dial(t, p.url("proxy"))
			j := &judge{shop: s, oracle: storetest.NewOracle(), keys: map[string]weir.Key{}}
			refused, by := 0, map[string]int{}
			for i, v := range log {
				got := c.send(v)
				want := j.judge(v, got.decided)
				if got.told != want {
					t.Fatalf("request %d, %s %s from %s:\ngot  %+v\nwant %+v", i+1, v.method, v.target, v.caller, got.told, want)
				}
				if want.status == http.StatusOK {
					if line := <-seen; line != v.method+" "+v.target {
						t.Fatalf("request %d, %s %s: the upstream saw %s", i+1, v.method, v.target, line)
					}
					continue
				}
				refused++
				for name := range strings.SplitSeq(want.by, ",") {
					by[name]++ // "" for HEAD, whose answer has no body
				}
			}
			t.Logf("%d of %d refused, by %v", refused, len(log), by)
			if refused < 50 || refused > 300 {
				t.Errorf("%d of 1000 refused: the rules should refuse 5 to 30 %%", refused)
			}
			for _, name := range s.refuse {
				if by[name] == 0 {
					t.Errorf("refused by %v: %s should refuse some", by, name)
				}
			}
		})
	}
}

// Limits so slow that instants do not matter, and eight connections at full
// speed: each caller gets exactly his burst.
func TestProcessShopLogAtFullSpeed(t *testing.T) {
	log, program := visits(t), build(t)
	upstream, _ := upstreamOf(t)
	p := serving(t, program, "testdata/shop", []string{"WEIR_UPSTREAM=" + upstream}, "slow.yaml")
	const burst = 30
	asked := map[netip.Addr]int{}
	for _, v := range log {
		asked[v.caller]++
	}
	var (
		mu   sync.Mutex
		got  = map[netip.Addr]int{}
		next atomic.Int64
		wg   sync.WaitGroup
	)
	for range 8 {
		c := dial(t, p.url("proxy"))
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(log)); i = next.Add(1) - 1 {
				if c.send(log[i]).status == http.StatusOK {
					mu.Lock()
					got[log[i].caller]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	refused := 0
	for caller, n := range asked {
		if want := min(n, burst); got[caller] != want {
			t.Errorf("%s was let through %d times of %d, want %d", caller, got[caller], n, want)
		}
		refused += n - got[caller]
	}
	t.Logf("%d of %d refused", refused, len(log))
}

// upstreamOf serves what is let through, and tells what it saw.
func upstreamOf(t *testing.T) (address string, seen chan string) {
	t.Helper()
	seen = make(chan string, 2000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Method + " " + r.RequestURI
		fmt.Fprintln(w, "served")
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

// A wire is one connection to the daemon, on which requests go byte for byte.
type wire struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, address string) *wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &wire{t, conn, bufio.NewReader(conn)}
}

// told is what an answer says.
type told struct {
	status           int
	by               string // the limits that refuse, as the body names them
	rateLimit        string // name and what is left of each limit
	remaining, retry string
}

type answer struct {
	told
	decided weir.Micros
}

var members = regexp.MustCompile(`"([^"]+)";r=(\d+);t=\d+`)

// send writes the request as the log has it, from a proxy that names the caller.
// A failure ends the test's goroutine only: it is one of many.
func (c *wire) send(v visit) (a answer) {
	length := ""
	if v.method == http.MethodPost {
		length = "Content-Length: 0\r\n"
	}
	_, err := fmt.Fprintf(c.conn, "%s %s HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: %s\r\nX-Forwarded-For: 203.0.113.99, %s\r\nAccept: application/json\r\n%s\r\n",
		v.method, v.target, v.agent, v.caller, length)
	if err != nil {
		c.t.Error(err)
		return a
	}
	res, err := http.ReadResponse(c.in, &http.Request{Method: v.method})
	if err != nil {
		c.t.Error(err)
		return a
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Error(err)
	}
	a.status, a.by = res.StatusCode, violated(string(body))
	for _, m := range members.FindAllStringSubmatch(res.Header.Get("RateLimit"), -1) {
		a.rateLimit += m[1] + " " + m[2] + ", "
	}
	a.remaining, a.retry = res.Header.Get("X-RateLimit-Remaining"), res.Header.Get("Retry-After")
	if text := res.Header.Get("X-Weir-Decided"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			c.t.Error(err)
		}
		a.decided = weir.Micros(n)
	}
	return a
}

// violated are the names in a problem's violated-policies.
func violated(body string) string {
	_, list, ok := strings.Cut(body, `"violated-policies":[`)
	if !ok {
		return ""
	}
	list, _, _ = strings.Cut(list, "]")
	return strings.ReplaceAll(list, `"`, "")
}

// A judge knows what the daemon must answer.
type judge struct {
	shop
	oracle *storetest.Oracle
	keys   map[string]weir.Key
}

func (j *judge) judge(v visit, at weir.Micros) told {
	list := j.applies(v)
	if len(list) == 0 {
		return told{status: http.StatusOK}
	}
	var takes []weir.Take
	for _, a := range list {
		take := weir.Take{Limit: a.limit, Key: j.key(a.caller), Cost: 1}
		if a.shadow {
			take.Join = weir.Advise
		}
		if a.limit.Spec().Zone != "" {
			take.Edges = edges(a.limit.Spec().Zone, at)
		}
		takes = append(takes, take)
	}
	allowed, out, err := j.oracle.Take(at, takes)
	if err != nil {
		return told{by: err.Error()}
	}
	w, best := told{status: http.StatusOK}, -1
	for i, d := range out {
		if list[i].shadow {
			continue
		}
		w.rateLimit += fmt.Sprintf("%s %d, ", list[i].limit.Name(), d.Remaining)
		if !d.Allowed {
			w.by += "," + list[i].limit.Name()
		}
		if d.Allowed == allowed && (best < 0 || tighter(allowed, list[i].limit, d, list[best].limit, out[best])) {
			best = i
		}
	}
	w.by = strings.TrimPrefix(w.by, ",")
	w.remaining = strconv.FormatInt(out[best].Remaining, 10)
	if !allowed {
		w.status = cmp.Or(j.status[list[best].limit.Rule()], http.StatusTooManyRequests)
		w.retry = strconv.FormatInt(max(1, (int64(out[best].RetryAfter)+999_999)/1_000_000), 10)
		if v.method == http.MethodHead {
			w.by = ""
		}
	}
	return w
}

// tighter reports whether a binds more than b.
func tighter(allowed bool, a *weir.Limit, da weir.Decision, b *weir.Limit, db weir.Decision) bool {
	if !allowed {
		return da.RetryAfter > db.RetryAfter
	}
	return da.Remaining*b.Capacity() < db.Remaining*a.Capacity()
}

func (j *judge) key(caller string) weir.Key {
	k, ok := j.keys[caller]
	if !ok {
		copy(k[:], strconv.Itoa(len(j.keys)+1))
		j.keys[caller] = k
	}
	return k
}

// edges are the days around an instant in a zone, by the standard library.
func edges(zone string, at weir.Micros) *weir.Edges {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	y, m, d := time.UnixMicro(int64(at)).In(loc).Date()
	var e weir.Edges
	for i := range e {
		e[i] = weir.Micros(time.Date(y, m, d+i-1, 0, 0, 0, 0, loc).UnixMicro())
	}
	return &e
}
