//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// rulesOf is one of two families of rules files, which differ in everything that
// may differ: names, order, numbers, plans, a rule that is renamed. Of a family each
// round has another number.
func rulesOf(family string, round int) string {
	head := `version: 1
listen:
  proxy: {address: '127.0.0.1:0', tls: {cert: cert.pem, key: tls.pem}}
  ops: 127.0.0.1:0
upstream: demo # the environment says
client_ip: {trusted_proxies: [127.0.0.9/32], trusted_headers: [X-Plan], header: X-Forwarded-For}
rules:
`
	rules := []string{
		fmt.Sprintf("{name: %s-first, match: /mix, limit: %d/min}", family, 2_000_000+round),
		fmt.Sprintf("{name: %s-second, match: /mix, limit: 100000/s}", family),
		"{name: meter, match: /meter, limit: 50/s burst 100}",
		"{name: still, match: /still, limit: 5/day burst 5}",
		"{name: planned, match: /planned, plan: 'header:X-Plan', default_plan: free}",
	}
	plans := "plans: {free: 4/day burst 4, gold: 1000/day}\n"
	if family == "a" {
		rules = append(rules, "{name: jobs, match: /jobs, limit: 5/day burst 5}")
	} else {
		rules = append([]string{"{name: tasks, was: jobs, match: /jobs, limit: 7/day burst 7}"}, rules...)
		rules[1], rules[5] = rules[5], rules[1]
		plans = "plans: {free: 6/day burst 6, silver: 10/day}\nheaders: {debug: true}\n"
	}
	return head + "  - " + strings.Join(rules, "\n  - ") + "\n" + plans
}

// brokenRules cannot be used, each in another way.
func brokenRules() []string {
	whole := rulesOf("a", 0)
	return []string{
		"",
		whole[:len(whole)/2],
		strings.Replace(whole, "limit:", "limt:", 1),
		strings.Replace(whole, "cert.pem", "none.pem", 1),
		strings.Replace(whole, "/min", "/fortnight", 1),
		"\x00\xff\x1b[31m",
	}
}

// A reloading is a daemon whose rules change again and again, and those who use it
// meanwhile.
type reloading struct {
	*testProcess
	dir      string
	upstream *httptest.Server
	client   *tls.Config

	mu       sync.Mutex
	faults   []string
	served   map[string]int // answers 200, by path
	families map[string]int // answers, by the family that decided
	mixed    int            // answers of one family with fields of the other
}

func startReloading(t *testing.T) *reloading {
	cert, key, client := certified(t)
	r := &reloading{client: client, served: map[string]int{}, families: map[string]int{}}
	r.upstream = httptest.NewServer(http.HandlerFunc(liveUpstream))
	t.Cleanup(r.upstream.Close)
	t.Cleanup(r.upstream.CloseClientConnections)
	r.dir = folder(t, map[string]string{"weir.yaml": rulesOf("a", 0), "cert.pem": cert, "tls.pem": key})
	r.testProcess = serving(t, build(t), r.dir, []string{"WEIR_UPSTREAM=" + r.upstream.URL, noHeadroom}, "weir.yaml")
	return r
}

// liveUpstream answers, sends events, and echoes what comes over a WebSocket.
func liveUpstream(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/events":
		w.Header().Set("Content-Type", "text/event-stream")
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for i := 0; ; i++ {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-ticks.C:
			case <-r.Context().Done():
				return
			}
		}
	case r.Header.Get("Upgrade") == "websocket":
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(conn, both)
	default:
		_, _ = io.WriteString(w, "served")
	}
}

func (r *reloading) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// secure is a client of the daemon's listener, over HTTP/1.1 or HTTP/2.
func (r *reloading) secure(two bool) *http.Client {
	return clientFrom(friend, func(tr *http.Transport) { tr.TLSClientConfig, tr.ForceAttemptHTTP2 = r.client.Clone(), two })
}

// crowd starts everybody who uses the daemon. What it gives ends them.
func (r *reloading) crowd(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	each := func(client *http.Client, paths ...string) {
		all.Go(func() {
			defer client.CloseIdleConnections()
			ticks := time.NewTicker(3 * time.Millisecond)
			defer ticks.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				r.once(client, paths[i%len(paths)])
				<-ticks.C
			}
		})
	}
	for range 3 {
		each(r.secure(false), "/mix")
	}
	each(r.secure(true), "/mix")
	each(r.secure(true), "/still", "/jobs", "/planned")
	each(r.secure(false), "/meter")
	all.Go(func() { r.events(ctx) })
	all.Go(func() { r.talk(ctx) })
	return func() { cancel(); all.Wait() }
}

var deciders = regexp.MustCompile(`"([ab])-(?:first|second)"`)

// once sends one request, which has to be answered by one of the two families.
func (r *reloading) once(client *http.Client, path string) {
	res, err := client.Get(r.url("proxy") + path)
	if err != nil {
		r.fault("%s: %v", path, err)
		return
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		r.fault("%s: %v", path, err)
	}
	slow := path != "/mix"
	if res.StatusCode != http.StatusOK && (!slow || res.StatusCode != http.StatusTooManyRequests) {
		r.fault("%s: %s", path, res.Status)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if res.StatusCode == http.StatusOK {
		r.served[path]++
	}
	if slow {
		return
	}
	names := res.Header.Get("RateLimit") + " " + res.Header.Get("RateLimit-Policy")
	found := deciders.FindAllStringSubmatch(names, -1)
	for _, f := range found {
		if len(found) != 4 || f[1] != found[0][1] {
			r.faults = append(r.faults, "decided by both: "+names)
			return
		}
	}
	if len(found) == 0 {
		r.faults = append(r.faults, "decided by nobody: "+names)
		return
	}
	r.families[found[0][1]]++
	if (found[0][1] == "b") != (res.Header.Get("X-Weir-Decided") != "") {
		r.mixed++
	}
}

// events reads an event stream until the end, in which none may be missing.
func (r *reloading) events(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url("proxy")+"/events", nil)
	if err != nil {
		r.fault("events: %v", err)
		return
	}
	client := r.secure(false)
	client.Timeout = 0
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		r.fault("events: %v", err)
		return
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for n := 0; lines.Scan(); {
		if lines.Text() == "" {
			continue
		}
		if lines.Text() != fmt.Sprint("data: ", n) {
			r.fault("events: %q instead of %d", lines.Text(), n)
		}
		n++
	}
	if ctx.Err() == nil {
		r.fault("events: the stream ended: %v", lines.Err())
	}
}

// talk sends and receives over a WebSocket until the end.
func (r *reloading) talk(ctx context.Context) {
	conn, err := tls.DialWithDialer(dialerFrom(friend), "tcp", r.host("proxy"), r.client)
	if err != nil {
		r.fault("WebSocket: %v", err)
		return
	}
	defer conn.Close()
	c := &raw{conn, bufio.NewReader(conn)}
	_, _ = io.WriteString(c, asks("/chat", "Connection: Upgrade", "Upgrade: websocket"))
	if res, err := http.ReadResponse(c.in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		r.fault("WebSocket: %v %v", res, err)
		return
	}
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		_, sent := fmt.Fprintf(c, "message %d\n", i)
		got, received := c.in.ReadString('\n')
		if errors.Join(sent, received) != nil || got != fmt.Sprintf("message %d\n", i) {
			r.fault("WebSocket: %q, %v", got, errors.Join(sent, received))
			return
		}
		<-ticks.C
	}
}

// write changes the rules file: by renaming another over it, in place, or by turning a
// symbolic link.
func (r *reloading) write(round int, text string) {
	r.Helper()
	file, other := r.dir+"/weir.yaml", fmt.Sprintf("%s/other-%d.yaml", r.dir, round)
	var err error
	switch round % 3 {
	case 0:
		err = errors.Join(os.WriteFile(other, []byte(text), 0o600), os.Rename(other, file))
	case 1:
		err = os.WriteFile(file, []byte(text), 0o600)
	default:
		link := r.dir + "/link"
		err = errors.Join(os.WriteFile(other, []byte(text), 0o600), os.Symlink(other, link), os.Rename(link, file))
	}
	if err != nil {
		r.Fatal(err)
	}
}

// reload is one round: the rules change, some of them to what cannot be used, and the
// daemon is told, or sees it by itself.
func (r *reloading) reload(round int, told bool) {
	r.Helper()
	text, good := rulesOf([]string{"a", "b"}[round%2], round), round%5 != 3
	if broken := brokenRules(); !good {
		text = broken[round/5%len(broken)]
	}
	r.write(round, text)
	before := r.logged(`"why":`)
	if told {
		before = r.logged(`"why":"SIGHUP"`)
		r.signal(syscall.SIGHUP)
	}
	if !within(testPatience, func() bool {
		if told {
			return r.logged(`"why":"SIGHUP"`) > before
		}
		return r.logged(`"why":`) > before
	}) {
		r.Fatalf("round %d: no reload", round)
	}
	want := 0.0
	if good {
		want = 1
	}
	if !within(testPatience, func() bool { return r.metric("weir_config_last_reload_successful") == want }) {
		r.Errorf("round %d: successful is not %v", round, want)
	}
}

// A thousand reloads drop no request, refill no bucket and leave nothing behind.
func TestProcessReload(t *testing.T) {
	r := startReloading(t)
	began := time.Now()
	end := r.crowd(t) // once, so that pools and buffers are as they will be
	for round := range 12 {
		r.reload(round, true)
	}
	end()
	r.upstream.CloseClientConnections()
	settled := r.calm(vitals{1 << 20, 64, 16})

	rounds, watched := sized(200, 1000), sized(3, 12)
	end = r.crowd(t)
	loading := time.Now()
	for round := range rounds {
		r.reload(12+round, round%(rounds/watched) != 1)
	}
	took := time.Since(loading)
	end()
	r.upstream.CloseClientConnections()
	// Memory: 5 MiB more were seen after a thousand; a file of rules and what is
	// compiled of it is some 50 KiB, so that a leak of each would be 10 and 50 MiB.
	after := r.calm(vitals{settled.memory + 8<<10, settled.files + 2, settled.goroutines + 2})

	if len(r.faults) > 0 {
		t.Errorf("%d requests were not served as they should: %q", len(r.faults), r.faults[:min(5, len(r.faults))])
	}
	if r.families["a"] < rounds || r.families["b"] < rounds {
		t.Errorf("decided by %v: both families should have decided", r.families)
	}
	// A request is decided by the policy that its other settings come from.
	if r.mixed > 0 {
		t.Errorf("%d answers of %d reloads have fields of the other family", r.mixed, rounds)
	}
	seconds := int(time.Since(began)/time.Second) + 1
	if got := r.served["/still"]; got != 5 {
		t.Errorf("a limit of 5 a day, the same in all files, let %d pass", got)
	}
	if got := r.served["/jobs"]; got < 5 || got > 7 {
		t.Errorf("a renamed limit of 5 or 7 a day let %d pass", got)
	}
	if got := r.served["/planned"]; got < 4 || got > 6 {
		t.Errorf("a plan of 4 or 6 a day let %d pass", got)
	}
	if got := r.served["/meter"]; got < 100 || got > 100+50*seconds {
		t.Errorf("50/s burst 100 let %d pass in %d s", got, seconds)
	}
	t.Logf("%d reloads in %v (%d by watching), decided by %v, %d mixed, served %v; before %v, after %v",
		rounds, took.Round(time.Millisecond), watched, r.families, r.mixed, r.served, settled, after)
}

// records gives the times of what the log has of a message.
func (p *testProcess) records(message string) (times []time.Time) {
	for line := range strings.Lines(p.text()) {
		var record struct {
			Time time.Time
			Msg  string
		}
		if json.Unmarshal([]byte(line), &record) == nil && record.Msg == message {
			times = append(times, record.Time)
		}
	}
	return times
}

// The switch file holds within two seconds, and what it does not understand changes
// nothing. The two seconds are by the log of the daemon, which looks once a second:
// how long the test needs to see what has changed is the machine's business.
func TestProcessSwitchFile(t *testing.T) {
	dir := folder(t, map[string]string{"weir.yaml": strings.Replace(oneRule, "5/h", "1/day", 1)})
	p := serving(t, build(t), dir, []string{"WEIR_SWITCH_FILE=switch"}, "--watch=false", "weir.yaml")
	ask := func() int {
		_, got, err := send(http.MethodPost, p.url("proxy")+"/jobs")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	ask() // the one of today
	const (
		soon      = 2 * time.Second
		turned    = "the switch was turned"
		notTurned = "the switch file is not understood: the switch stays as it is"
	)
	for _, step := range []struct {
		write string // "" removes the file
		says  string // what the log has one record more of
		state string
	}{
		{"off\n", turned, "off"},
		{"o", notTurned, "off"},
		{"shadow", turned, "shadow"},
		{"\x00\xff", notTurned, "shadow"},
		{"", turned, "on"},
		{"OFF", notTurned, "on"},
		{"off", turned, "off"},
		{strings.Repeat("off", 1000), notTurned, "off"},
		{"on", turned, "on"},
	} {
		before, began := len(p.records(step.says)), time.Now()
		p.must(position(dir, step.write))
		if !within(testPatience, func() bool { return len(p.records(step.says)) > before }) {
			t.Fatalf("%.10q: the log does not say %q\n%s", step.write, step.says, p.text())
		}
		told := p.records(step.says)
		if took := told[before].Sub(began); took > soon || len(told) > before+1 {
			t.Errorf("%.10q: after %v the log says %q; in all %d times, want %d", step.write, took, step.says, len(told), before+1)
		}
		want := http.StatusOK
		if step.state == "on" {
			want = http.StatusTooManyRequests
		}
		holds := func() bool {
			return p.metric(fmt.Sprintf("weir_enforce{state=%q}", step.state)) == 1 && ask() == want
		}
		if step.says == turned && !within(testPatience, holds) || !holds() { // a turn is logged just before it holds
			t.Errorf("%.10q: it answers %d, want %d and the state %s", step.write, ask(), want, step.state)
		}
		t.Logf("%.10q: %s after %v", step.write, step.state, told[before].Sub(began).Round(time.Millisecond))
	}
}

// position writes a switch file in one step, so that nobody reads half of it, or
// removes it for "".
func position(dir, text string) error {
	if text == "" {
		return os.Remove(dir + "/switch")
	}
	return errors.Join(os.WriteFile(dir+"/other", []byte(text), 0o600), os.Rename(dir+"/other", dir+"/switch"))
}
