package httplimit

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// visiting is some lanes that are visited, one request after the other.
type visiting struct {
	*lanes

	at time.Time
}

// visit sends a request to a host, if it may be sent, and lets it be answered; closed
// is how long it may not be.
func (v *visiting) visit(host int, answer advice) (closed time.Duration) {
	l := v.enter(weir.Text("host", fmt.Sprint(host)))
	defer func() { v.leave(l, v.at) }()
	if closed = v.closed(l, v.at); closed > 0 {
		return closed
	}
	n, _ := v.admit(l, v.at)
	v.learn(l, n, answer, v.at, time.Hour)
	return 0
}

func pause(d time.Duration) advice { return advice{refused: true, wait: d} }

// known checks how many lanes are remembered, all of them at rest.
func (v *visiting) known(t *testing.T, want int) {
	t.Helper()
	if len(v.byKey) != want || len(v.resting) != want {
		t.Fatalf("%d lanes, %d at rest, want %d", len(v.byKey), len(v.resting), want)
	}
}

// However many hosts ask to be left alone, memory is bounded; those whose pause
// ends last are remembered.
func TestLanesAreBounded(t *testing.T) {
	const room, hosts = 100, 1000
	v := &visiting{newLanes(room), today()}
	for i := range hosts { // nobody says anything: nothing is remembered
		v.visit(i, advice{})
	}
	v.known(t, 0)
	busy := v.enter(weir.Text("host", "busy")) // under way all the time
	for i := range hosts {
		v.visit(i, pause(time.Duration(i+1)*time.Second))
	}
	if len(v.byKey) != room+1 || len(v.resting) != room {
		t.Fatalf("%d lanes, %d at rest", len(v.byKey), len(v.resting))
	}
	v.leave(busy, v.at)
	for i := range hosts {
		want := time.Duration(0)
		if i >= hosts-room {
			want = time.Duration(i+1) * time.Second
		}
		if i >= hosts-room || i < 10 {
			if got := v.visit(i, advice{}); got != want {
				t.Errorf("host %d is closed for %v, want %v", i, got, want)
			}
		}
	}
	v.known(t, room)
	v.at = v.at.Add(time.Hour) // all pauses are over
	for i := range hosts {
		v.visit(i, advice{})
	}
	v.known(t, 0) // and all that was remembered was answered
}

// Whoever says how much is left, and lets requests through, takes nobody's place
// who has asked to be left alone.
func TestLanesKeepThoseThatWait(t *testing.T) {
	const room = 100
	v := &visiting{newLanes(room), today()}
	v.visit(-1, pause(time.Minute))
	v.visit(-2, says(0, time.Minute))
	v.visit(-3, pause(time.Second))
	v.at = v.at.Add(time.Second)
	for i := range 10 * room {
		v.visit(i, says(59, time.Hour))
	}
	v.known(t, room)
	for host := -1; host >= -2; host-- {
		if got := v.visit(host, advice{}); got != time.Minute-time.Second {
			t.Errorf("host %d is closed for %v", host, got)
		}
	}
	for i := range room { // those that wait longer take the places of all others
		v.visit(i, pause(time.Hour))
	}
	if got := v.visit(-1, advice{}); got != 0 {
		t.Errorf("the shortest pause is remembered: %v", got)
	}

	v = &visiting{newLanes(room), today()} // of those that wait for nothing the one that lasts longest
	for i := range 10 * room {
		v.visit(i, says(59, time.Duration(1+i*37%(10*room))*time.Second))
	}
	for _, l := range v.byKey {
		if d := l.end().Sub(v.at); d <= 9*room*time.Second {
			t.Errorf("a window of %v is remembered", d)
		}
	}
}

// A request that leaves without being sent takes nothing along: after a pause one
// goes first all the same, and the next refusal is one more in a row.
func TestLanesForgetOnlyWhatWasAnswered(t *testing.T) {
	v := &visiting{newLanes(100), today()}
	look := func() { v.leave(v.enter(weir.Text("host", "1")), v.at) }
	v.visit(1, advice{refused: true})
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second} {
		v.at = v.at.Add(time.Hour)
		look()
		v.visit(1, advice{refused: true})
		if got := v.visit(1, advice{}); got != want {
			t.Errorf("closed for %v, want %v", got, want)
		}
	}
	v.at = v.at.Add(time.Hour)
	look()
	l := v.enter(weir.Text("host", "1"))
	v.admit(l, v.at)
	if _, second := v.admit(l, v.at); second {
		t.Error("two went at once after a pause")
	}
	v.lose(l)
	v.leave(l, v.at)
	v.at = v.at.Add(time.Second / 2)
	if got := v.visit(1, advice{}); got != time.Second/2 {
		t.Errorf("closed for %v: what went first was not answered", got)
	}
	v.at = v.at.Add(time.Second)
	v.visit(1, advice{})
	v.known(t, 0)

	v.visit(1, pause(time.Second))
	v.at = v.at.Add(time.Second)
	l = v.enter(weir.Text("host", "1"))
	v.admit(l, v.at)
	v.lose(l)
	v.leave(l, v.at)
	v.known(t, 1) // what went first was not answered
	if got := v.visit(1, advice{}); got != time.Second {
		t.Errorf("closed for %v", got)
	}
	v.at = v.at.Add(time.Second)
	v.visit(1, advice{})
	v.known(t, 0)

	v.visit(1, says(0, time.Second)) // a window that is used up is a pause as well
	v.at = v.at.Add(time.Hour)
	look()
	v.known(t, 1)
}

// What it takes to remember one host more does not grow with those under way, nor
// with those that are remembered.
func TestFloodOfHosts(t *testing.T) {
	const many, patience = 20_000, 10 * time.Second
	v := &visiting{newLanes(maxResting), today()}
	for i := range many {
		v.enter(weir.Text("host", fmt.Sprint("under way ", i)))
	}
	begun := now()
	for i := range many {
		v.visit(i, says(59, time.Hour))
	}
	if took := now().Sub(begun); took > patience {
		t.Errorf("%d hosts took %v", many, took)
	}
	if len(v.byKey) != many+maxResting {
		t.Errorf("%d lanes", len(v.byKey))
	}
}

// The longest field that is read is soon read.
func TestAllocationsOfAHostileHeader(t *testing.T) {
	const members = 10_000
	list := make([]string, members)
	for i := range list {
		list[i] = `"a";r=0;t=60`
	}
	h := http.Header{"Ratelimit": list, "Ratelimit-Policy": list, "Retry-After": list, "X-Ratelimit-Reset": list}
	if n := testing.AllocsPerRun(1, func() { readAdvice(200, h, today()) }); n > 100 {
		t.Errorf("%.0f allocations", n)
	}
}

// A limit that a Transport could not keep to is refused when it is made.
func TestUnfitLimits(t *testing.T) {
	for text, fits := range map[string]bool{
		"10/s": true, "3/min leaky-bucket queue 5": true, "deny": true, "5 concurrent": false, "10/s block 5m": false,
	} {
		spec, err := weir.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if problem, remedy := unfit(spec); (problem == "") != fits || (remedy == "") != fits {
			t.Errorf("%s: %q, %q", text, problem, remedy)
		}
	}
}

func TestSpansAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{1: "1ms", time.Second: "1s", time.Second + 1: "1s1ms", 90*time.Second - 1: "1m30s"} {
		if got := spoken(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestHostsAreWrittenInOneWay(t *testing.T) {
	f := func(want, url string) {
		t.Helper()
		if got := hostOf(mustURL(t, url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	f("api.example", "https://api.example/")
	f("api.example", "https://API.Example.:443/")
	f("api.example", "http://api.example:80")
	f("api.example:443", "http://api.example:443")
	f("api.example:80", "https://api.example.:80")
	f("::1", "http://[::1]:80")
	f("[::1]:8080", "http://[::1]:8080")
	if got := hostOf(nil); got != "" {
		t.Error(got)
	}
}
