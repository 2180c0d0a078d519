package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/internal/measure"
	"github.com/weirhq/weir/bench/internal/report"
)

// An asker runs one request.
type asker func(context.Context, measure.Request) (measure.Sample, error)

// latencyRounds is how many rounds the part latency takes part in at most: each of its
// figures is of tens of thousands of decisions, and it would take too long.
const latencyRounds = 3

// measure goes through all contenders once a round, so that what the machine does
// meanwhile meets all of them. Every other round goes through them backwards.
func (o *options) measure(ctx context.Context, ask asker, progress io.Writer) (*report.Report, error) {
	r := &report.Report{Machine: report.ThisMachine(strings.Join(append([]string{"bench"}, o.args...), " "))}
	begin := time.Now()
	groups := o.groups()
	if len(groups) == 0 {
		return nil, fmt.Errorf("there is nothing to measure: no contender is in -parts %s and -sizes %s", strings.Join(o.parts, ","), strings.Join(o.sizes, ","))
	}
	for round := range o.rounds {
		for _, group := range groups {
			if round%2 == 1 {
				group = slices.Clone(group)
				slices.Reverse(group)
			}
			if group[0].Part == measure.Latency && round >= latencyRounds {
				continue
			}
			for _, q := range group {
				fmt.Fprintf(progress, "%6s  round %d of %d  %s %s  %s\n", time.Since(begin).Round(time.Second), round+1, o.rounds, q.Part, q.Set, q.Contender)
				s, err := ask(ctx, q)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				r.Add(q, s, err)
			}
		}
	}
	r.Machine.End()
	return r, nil
}

// child runs a request in a process of its own: a heap that nobody else's keys
// are in, and a table that nobody has used before.
func child(ctx context.Context, q measure.Request) (s measure.Sample, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	request, err := json.Marshal(q)
	if err != nil {
		return s, err
	}
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "-request", string(request))
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%w: %s", err, lastLine(complaint.String()))
	}
	return s, json.Unmarshal(out.Bytes(), &s)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
