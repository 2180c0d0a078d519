//go:build linux

package main

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// noHeadroom is for tests that measure memory: a daemon that is told when to
// collect does not let 32 MiB of garbage grow, in which a leak would hide.
const noHeadroom = "GOGC=100"

// vitals are what a process holds at a moment.
type vitals struct {
	memory     int // resident, in KiB
	files      int // descriptors
	goroutines int
}

func (v vitals) String() string {
	return fmt.Sprintf("%d KiB, %d descriptors, %d goroutines", v.memory, v.files, v.goroutines)
}

// vitals asks the system and the daemon's own metrics.
func (p *testProcess) vitals() vitals {
	p.Helper()
	return vitals{
		memory:     p.status("VmRSS"),
		files:      p.files(),
		goroutines: int(p.metric("go_goroutines")),
	}
}

// calm waits until the process holds no more than this again, and gives what it
// holds then. Memory is given back by the runtime in its own time. What release does
// comes before each look.
func (p *testProcess) calm(most vitals, release ...func()) vitals {
	p.Helper()
	var now vitals
	if !within(testPatience, func() bool {
		for _, f := range release {
			f()
		}
		now = p.vitals()
		return now.memory <= most.memory && now.files <= most.files && now.goroutines <= most.goroutines
	}) {
		p.Errorf("it holds %v, want at most %v", now, most)
	}
	return now
}

// status is a field of /proc/PID/status, in KiB.
func (p *testProcess) status(field string) int {
	p.Helper()
	text := p.proc("status")
	_, text, _ = strings.Cut(text, "\n"+field+":")
	text, _, _ = strings.Cut(text, "kB")
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		p.Fatalf("%s: %v", field, err)
	}
	return n
}

func (p *testProcess) proc(file string) string {
	p.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

// peak is the most memory that was resident since the last look, in KiB.
func (p *testProcess) peak() int {
	p.Helper()
	most := p.status("VmHWM")
	const resetPeak = "5" // see proc_pid_clear_refs(5)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte(resetPeak), 0o200); err != nil {
		p.Fatal(err)
	}
	return most
}

func (p *testProcess) files() int {
	p.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	return len(list)
}

// cpu is the time that the process has computed for, to a hundredth of a second.
func (p *testProcess) cpu() time.Duration {
	p.Helper()
	const hundredth = 10 * time.Millisecond // the unit of /proc/PID/stat on Linux, whatever its clock
	text := p.proc("stat")
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // behind the name; the first is field 3
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		if err != nil {
			p.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * hundredth
}

// metric is the value of a series, 0 for one that is not there; of a name without
// labels the sum of all its series.
func (p *testProcess) metric(series string) float64 {
	p.Helper()
	sum := 0.0
	for name, value := range p.scrape() {
		if family, _, _ := strings.Cut(name, "{"); name == series || family == series {
			sum += value
		}
	}
	return sum
}

// scrape is what /metrics says, by series.
func (p *testProcess) scrape() map[string]float64 {
	p.Helper()
	res, err := http.Get(p.url("ops") + "/metrics")
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	found := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		i := strings.LastIndexByte(lines.Text(), ' ')
		if i < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if found[lines.Text()[:i]], err = strconv.ParseFloat(lines.Text()[i+1:], 64); err != nil {
			p.Fatal(err)
		}
	}
	if lines.Err() != nil || len(found) == 0 {
		p.Fatalf("metrics cannot be read: %v", lines.Err())
	}
	return found
}

// series are the names of all series, in order.
func (p *testProcess) series() []string { return slices.Sorted(maps.Keys(p.scrape())) }

// logged is how often the log has said something.
func (p *testProcess) logged(text string) int { return strings.Count(p.text(), text) }

// host is the address of a listener.
func (p *testProcess) host(listener string) string {
	_, host, _ := strings.Cut(p.url(listener), "://")
	return host
}

// dialerFrom connects from an address of the loopback network, so that one test
// is many callers.
func dialerFrom(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: testPatience}
}

// sized is the first number, or with WEIR_LONG the second.
func sized(short, long int) int {
	if os.Getenv("WEIR_LONG") != "" {
		return long
	}
	return short
}

// folder makes a folder with these files, by name.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
