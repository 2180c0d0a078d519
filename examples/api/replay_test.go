package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

// A request is one line of the access log.
type request struct {
	caller         netip.Addr
	at             weir.Micros // when it came, to the second
	method, target string      // as they were sent
}

// The format is combined; of it, the caller, the time and the request line.
var combined = regexp.MustCompile(`^(\S+) \S+ \S+ \[([^]]+)\] "([A-Z]+) (\S+) HTTP/1\.1" `)

// shopLog reads testdata/shop-access.log.gz, three minutes of a web shop.
func shopLog(t *testing.T) []request {
	t.Helper()
	f, err := os.Open("testdata/shop-access.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var log []request
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		m := combined.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("line %d cannot be read", len(log)+1)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, request{netip.MustParseAddr(m[1]), weir.Micros(at.UnixMicro()), m[3], m[4]})
	}
	if err := lines.Err(); err != nil || len(log) != 1000 {
		t.Fatalf("%d lines, error %v; want 1000", len(log), err)
	}
	return log
}

// A plan is one set of limits that the log is sent under.
type plan struct {
	name     string
	args     []string
	limits   map[string]string // what the args say, by the names they should get
	order    []string          // of the limits in an answer
	policy   string
	prefix   int
	logClock bool // the store's clock follows the log; otherwise it is the real one
}

func plans() []plan {
	return []plan{
		{
			// At full speed on the real clock: everything comes within moments,
			// so that a bucket of 40 must refuse, however fast that is.
			name: "a bucket, at full speed", args: []string{"-limit", "30/min burst 40"},
			limits: map[string]string{"create-job": "30/min burst 40"}, order: []string{"create-job"},
			policy: `"create-job";q=30;w=60;weir-burst=40`, prefix: 32,
		},
		{
			// On the log's clock: a bucket and a window that both refuse.
			name: "a bucket and a window, in the log's time", args: []string{"-limit", "1/s burst 10", "-limit", "20/min fixed-window"},
			limits:   map[string]string{"create-job/1s": "1/s burst 10", "create-job/1m": "20/min fixed-window"},
			order:    []string{"create-job/1s", "create-job/1m"},
			policy:   `"create-job/1s";q=1;w=1;weir-burst=10, "create-job/1m";q=20;w=60`,
			prefix:   32,
			logClock: true,
		},
		{
			// On the log's clock: sixteen neighbours count as one.
			name: "a window by network, in the log's time", args: []string{"-limit", "60/min fixed-window", "-prefix", "28"},
			limits: map[string]string{"create-job": "60/min fixed-window"}, order: []string{"create-job"},
			policy: `"create-job";q=60;w=60`, prefix: 28, logClock: true,
		},
	}
}

// The log's requests, byte for byte over real HTTP from a trusted peer, each
// answer compared with what the oracle says at the instant that the answer names.
func TestShopLogIsLimitedAsTheOracleSays(t *testing.T) {
	log := shopLog(t)
	for _, p := range plans() {
		t.Run(p.name, func(t *testing.T) {
			clock := storetest.NewClock(log[0].at)
			var c memstore.Config
			if p.logClock {
				c.Now = clock.Now
			}
			s := newSession(t, p, c)
			refused, by := 0, map[string]int{}
			for i, r := range log {
				clock.Set(r.at)
				got, at := s.send(r)
				if p.logClock && at != r.at {
					t.Fatalf("request %d was decided at %d, want %d", i+1, at, r.at)
				}
				want := s.judge.answer(r, at)
				if got != want.answer {
					t.Fatalf("request %d, %s %s:\ngot  %+v\nwant %+v", i+1, r.method, r.target, got, want.answer)
				}
				if got.Status == http.StatusTooManyRequests {
					refused++
				}
				for _, name := range want.violated {
					by[name]++
				}
			}
			t.Logf("%d of %d refused, by %v", refused, len(log), by)
			if len(by) != len(p.order) {
				t.Errorf("refused by %v; each of %v should refuse some", by, p.order)
			}
			if refused < len(log)*5/100 || refused > len(log)*30/100 {
				t.Errorf("%d of %d refused: the limits should refuse 5 to 30 %%", refused, len(log))
			}
		})
	}
}

// A session is one connection to the API under a plan.
type session struct {
	t     *testing.T
	judge *judge
	conn  net.Conn
	in    *bufio.Reader
	seen  chan string // method and target as the API was sent them
}

func newSession(t *testing.T, p plan, c memstore.Config) *session {
	t.Helper()
	o, err := parse(append([]string{"-match", "/", "-trust", "127.0.0.1/32", "-debug"}, p.args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	api, err := newAPI(o, store)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, judge: newJudge(p), seen: make(chan string, 1)}
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen <- r.Method + " " + r.RequestURI
		api.ServeHTTP(w, r)
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	if s.conn, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	s.in = bufio.NewReader(s.conn)
	return s
}

// An answer is what is compared.
type answer struct {
	Status                                int
	RateLimit, Policy                     string
	Limit, Remaining, Reset               string
	RetryAfter, CacheControl, ContentType string
	Body                                  string // of a refusal
}

// send writes the request as the log has it, and gives the answer and when it
// was decided.
func (s *session) send(r request) (answer, weir.Micros) {
	s.t.Helper()
	length := ""
	if r.method == http.MethodPost {
		length = "Content-Length: 0\r\n"
	}
	_, err := fmt.Fprintf(s.conn, "%s %s HTTP/1.1\r\nHost: shop.example\r\nX-Forwarded-For: %s\r\n%s\r\n", r.method, r.target, r.caller, length)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.ReadResponse(s.in, &http.Request{Method: r.method})
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode == http.StatusOK {
		body = nil
	}
	if seen := <-s.seen; seen != r.method+" "+r.target {
		s.t.Fatalf("the API was sent %q", seen)
	}
	at, err := strconv.ParseInt(res.Header.Get("X-Weir-Decided"), 10, 64)
	if err != nil {
		s.t.Fatalf("X-Weir-Decided: %v", err)
	}
	h := res.Header
	return answer{
		Status:    res.StatusCode,
		RateLimit: join(h, "RateLimit"), Policy: join(h, "RateLimit-Policy"),
		Limit: join(h, "X-RateLimit-Limit"), Remaining: join(h, "X-RateLimit-Remaining"), Reset: join(h, "X-RateLimit-Reset"),
		RetryAfter: join(h, "Retry-After"), CacheControl: join(h, "Cache-Control"), ContentType: join(h, "Content-Type"),
		Body: string(body),
	}, weir.Micros(at)
}
