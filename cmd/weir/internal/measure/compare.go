package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// comparison is what the command line asks for.
type comparison struct {
	weir        string
	pairs       int
	time        time.Duration
	connections int
}

// rules is ten rules of which three match, with limits that nobody reaches.
func rules(upstream string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
listen: {proxy: "127.0.0.1:0", ops: "127.0.0.1:0"}
upstream: %s
rules:
- {name: a, match: /api/, key: ip, limit: 1000000000/s}
- {name: b, match: /api/v1/jobs, key: [ip, host], limit: 1000000000/s}
- {name: c, match: "GET /api/{version}/jobs", key: ip, limit: 1000000000/s}
`, upstream)
	for i := range 7 {
		fmt.Fprintf(&b, "- {name: r%d, match: /r%d/, key: ip, limit: 1000/s}\n", i, i)
	}
	return b.String()
}

// run starts everything, measures, and prints.
func (c *comparison) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "measure")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the system's folder for such things
	urls, stop, err := c.start(ctx, dir)
	defer stop()
	if err != nil {
		return err
	}
	fmt.Printf("%8s %12s %12s %12s %12s %12s\n", "pair", "bare /s", "weir /s", "bare 2 /s", "weir/bare", "bare 2/bare")
	var weir, bare []float64
	for i := range c.pairs {
		rates := map[string]float64{}
		order := []string{"bare", "weir", "bare 2"}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, name := range order {
			if rates[name], err = c.load(ctx, urls[name]+"/api/v1/jobs"); err != nil {
				return err
			}
		}
		weir, bare = append(weir, rates["weir"]/rates["bare"]), append(bare, rates["bare 2"]/rates["bare"])
		fmt.Printf("%8d %12.0f %12.0f %12.0f %12.3f %12.3f\n", i+1, rates["bare"], rates["weir"], rates["bare 2"], weir[i], bare[i])
	}
	fmt.Printf("%8s %12s %12s %12s %12.3f %12.3f\n", "median", "", "", "", median(weir), median(bare))
	return nil
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// start starts the upstream and three proxies before it.
func (c *comparison) start(ctx context.Context, dir string) (urls map[string]string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	urls = map[string]string{}
	self, err := os.Executable()
	if err != nil {
		return nil, cancel, err
	}
	if urls["upstream"], err = first(exec.CommandContext(ctx, self, "-role", "upstream")); err != nil {
		return nil, cancel, err
	}
	for _, name := range []string{"bare", "bare 2"} {
		if urls[name], err = first(exec.CommandContext(ctx, self, "-role", "bare", "-to", urls["upstream"])); err != nil {
			return nil, cancel, err
		}
	}
	file := filepath.Join(dir, "weir.yaml")
	if err := os.WriteFile(file, []byte(rules(urls["upstream"])), 0o600); err != nil {
		return nil, cancel, err
	}
	urls["weir"], err = proxyURL(exec.CommandContext(ctx, c.weir, "serve", "--log-format", "json", file))
	return urls, cancel, err
}

// first starts a program and gives the first line that it prints.
func first(cmd *exec.Cmd) (string, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), err
}

// proxyURL starts weir and reads from its log where the proxy listens.
func proxyURL(cmd *exec.Cmd) (string, error) {
	log, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, Listener, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" && line.Listener == "proxy" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return "http://" + line.Address, nil
		}
	}
	return "", errors.New("weir did not begin to listen")
}

var (
	perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	failures  = regexp.MustCompile(`(Socket errors|Non-2xx).*`)
)

// load sends requests for the time of a run and gives how many were answered a
// second.
func (c *comparison) load(ctx context.Context, url string) (float64, error) {
	out, err := exec.CommandContext(ctx, "wrk", "-t", "1", "-c", strconv.Itoa(c.connections),
		"-d", strconv.FormatFloat(c.time.Seconds(), 'f', 0, 64)+"s", url).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	if m := failures.Find(out); m != nil {
		return 0, fmt.Errorf("wrk on %s: %s", url, m)
	}
	m := perSecond.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("wrk printed no rate: %s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
