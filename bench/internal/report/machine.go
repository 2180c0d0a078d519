package report

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/internal/lineup"
)

// A Machine says where and how a run was made.
type Machine struct {
	CPU       string        // the processor's name
	CPUs      int           // as the program sees them
	System    string        // GOOS/GOARCH
	Go        string        // its version
	Began     time.Time     // in UTC
	Took      time.Duration // the whole run
	LoadBegan string        // the load average of the minute before
	LoadEnded string        // that of its last minute
	Command   string        // the program with its flags
	Versions  []string      // of the modules that are compared
}

// ThisMachine describes the machine before a run.
func ThisMachine(command string) Machine {
	return Machine{
		CPU:       cpu(),
		CPUs:      runtime.NumCPU(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Go:        runtime.Version(),
		Began:     time.Now().UTC().Truncate(time.Second),
		LoadBegan: load(),
		Command:   command,
		Versions:  versions(),
	}
}

// End takes note of how a run ended.
func (m *Machine) End() {
	m.Took = time.Since(m.Began).Round(time.Second)
	m.LoadEnded = load()
}

// cpu is the processor's name, where Linux tells it.
func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// load is the load average of the last minute, where Linux tells it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

// versions are those of the contenders' modules, as they were built in.
func versions() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var list []string
	for _, dep := range info.Deps {
		if !slices.ContainsFunc(lineup.All(), func(c lineup.Contender) bool { return c.Module == dep.Path }) {
			continue
		}
		if dep.Replace != nil {
			dep.Version = "of this tree"
		}
		list = append(list, strings.TrimPrefix(dep.Path, "github.com/")+" "+dep.Version)
	}
	return list
}

// quiet is the load average above which a machine is busy with something else.
const quiet = 0.5

// busy reports whether something else ran before the run began, as far as is known.
func (m *Machine) busy() bool {
	load, err := strconv.ParseFloat(m.LoadBegan, 64)
	return err == nil && load > quiet
}

// lines is what stands above the tables.
func (m *Machine) lines() []string {
	lines := []string{
		fmt.Sprintf("machine   %s, %d CPUs, %s, %s", m.CPU, m.CPUs, m.System, m.Go),
		fmt.Sprintf("run       %s, took %s; load average %s as it began, %s as it ended", m.Began.Format(time.RFC3339), m.Took, m.LoadBegan, m.LoadEnded),
		"command   " + m.Command,
		"versions  " + strings.Join(m.Versions, ", "),
	}
	if m.busy() {
		lines = append(lines, "WARNING   the machine was busy before the run began: do not quote these figures")
	}
	return lines
}
