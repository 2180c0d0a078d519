//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A ledger is what the upstream was asked, and what callers have got whole.
type ledger struct {
	mu             sync.Mutex
	moved          *sync.Cond // under mu: asked has grown, or nobody can ask any more
	asked, got     map[string]bool
	closed         bool         // nobody listens any more
	answers, early atomic.Int64 // early: failures before the listeners closed
}

func (l *ledger) note(list map[string]bool, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list[id] = true
	l.moved.Broadcast()
}

func newLedger() *ledger {
	l := &ledger{asked: map[string]bool{}, got: map[string]bool{}}
	l.moved = sync.NewCond(&l.mu)
	return l
}

// close tells that nobody listens any more.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.moved.Broadcast()
}

func (l *ledger) hasClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// pause waits until more has been asked, or nothing can be any more.
func (l *ledger) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for before := len(l.asked); len(l.asked) < before+10 && !l.closed; {
		l.moved.Wait()
	}
}

// slow begins the name of a request that is answered while others come and go, and
// at the end when the listeners have closed.
const slow = "slow-"

// ServeHTTP answers in pieces.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.note(l.asked, r.URL.Query().Get("id"))
	_, _ = io.Copy(io.Discard, r.Body)
	for range 3 {
		_, _ = io.WriteString(w, "part ")
		_ = http.NewResponseController(w).Flush()
		if strings.HasPrefix(r.URL.Query().Get("id"), slow) {
			l.pause()
		}
	}
	_, _ = io.WriteString(w, "end")
}

// post sends one request. It must not be sent twice by itself: a POST is not.
func (l *ledger) post(client *http.Client, url, id string) error {
	res, err := client.Post(url+"/work?id="+id, "text/plain", strings.NewReader("body"))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || string(text) != "part part part end" {
		return fmt.Errorf("%s: %q", res.Status, text)
	}
	l.note(l.got, id)
	l.answers.Add(1)
	return nil
}

// A daemon that is told to end answers all that it has let in, says first that it is not
// ready, and ends with 0 in time.
func TestProcessTermUnderLoad(t *testing.T) {
	l := newLedger()
	upstream := httptest.NewServer(l)
	t.Cleanup(upstream.Close)
	t.Cleanup(l.close)
	dir := folder(t, map[string]string{"weir.yaml": strings.ReplaceAll(oneRule, "5/h", "1000000/s")})
	const delay = 3 * time.Second // time enough to ask twice, on a machine that does much else
	p := serving(t, build(t), dir, []string{"WEIR_UPSTREAM=" + upstream.URL}, "--drain-delay", delay.String(), "weir.yaml")

	url := p.url("proxy")
	var all sync.WaitGroup
	for i := range sized(20, 200) {
		kind := ""
		if i%2 == 0 {
			kind = slow
		}
		all.Go(func() {
			client := clientFrom(friend, nil)
			defer client.CloseIdleConnections()
			for n := 0; ; n++ {
				err := l.post(client, url, fmt.Sprintf("%s%d-%d", kind, i, n))
				switch {
				case err == nil:
				case l.hasClosed() || p.hasEnded():
					return
				case !listens(p.host("proxy")):
					l.close()
				default:
					l.early.Add(1)
				}
			}
		})
	}
	if !within(testPatience, func() bool { return l.answers.Load() > 200 }) {
		t.Fatalf("%d answers", l.answers.Load())
	}
	began := time.Now()
	p.signal(syscall.SIGTERM)
	unready := within(delay, func() bool {
		_, status, err := send(http.MethodGet, p.url("ops")+"/readyz")
		return err == nil && status == http.StatusServiceUnavailable
	})
	if _, status, err := send(http.MethodPost, url+"/work?id=after"); !unready || err != nil || status != http.StatusOK {
		t.Errorf("not ready: %t; a request then: %d, %v", unready, status, err)
	}
	p.must(p.ends(exitOK))
	took := time.Since(began)
	all.Wait()

	l.note(l.got, "after")
	for id := range l.asked {
		if !l.got[id] {
			t.Errorf("request %s was let in and not answered", id)
		}
	}
	if l.early.Load() > 0 {
		t.Errorf("%d requests failed while the daemon still listened", l.early.Load())
	}
	// It ends because all is answered, and not because the 30 s for it are over: the slow
	// answers come when the listeners have closed, and half a second later nothing is
	// open. The bound is what a machine may take that is busy with ten other things.
	if most := delay + 15*time.Second; took > most {
		t.Errorf("it ended after %v, want at most %v", took, most)
	}
	t.Logf("%d requests, all answered; ended after %v", len(l.asked), took.Round(time.Millisecond))
}

// listens reports whether somebody accepts connections at an address.
func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// A daemon that is killed comes up again at once, on the port and the socket that it
// had, and everybody has his burst again: states in memory end with the process.
func TestProcessKilled(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir := folder(t, map[string]string{"weir.yaml": fmt.Sprintf(`version: 1
listen: {proxy: '%s', http: 'unix:weir.sock', ops: '127.0.0.1:0'}
upstream: demo
rules:
  - {name: jobs, match: POST /jobs, limit: 5/h burst 5}
`, address)})
	program := build(t)
	for round := range sized(3, 20) {
		began := time.Now()
		p := serving(t, program, dir, nil, "weir.yaml")
		took := time.Since(began)
		if took > 5*time.Second { // 20 ms were seen
			t.Errorf("round %d: ready after %v", round, took)
		}
		for n := range 6 {
			want := http.StatusOK
			if n == 5 {
				want = http.StatusTooManyRequests
			}
			if _, status, err := send(http.MethodPost, p.url("proxy")+"/jobs"); err != nil || status != want {
				t.Errorf("round %d, request %d: %d, %v; want %d", round, n, status, err, want)
			}
		}
		p.mustOpen("proxy", friend) // and a connection that nobody closes
		p.signal(syscall.SIGKILL)
		if !within(testPatience, p.hasEnded) {
			t.Fatal("it lives")
		}
		t.Logf("round %d: ready after %v", round, took.Round(time.Millisecond))
	}
}
