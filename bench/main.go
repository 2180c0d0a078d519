// Command bench compares weir with its peers, side by side: the time of a
// decision, the room of a key, the slowest decisions while a table grows, sweeps
// and is flooded, and what is admitted when many ask for one key at once.
// README.md beside it says how to read what it prints.
//
//	GOWORK=off go run .
//	GOWORK=off go run . -parts speed -sizes hot,1e5 -rounds 1 -time 50ms -only 'weir|bare|go-limiter'
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/weirhq/weir/bench/internal/measure"
	"github.com/weirhq/weir/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// run does what the command line asks for.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	switch {
	case err != nil:
		return err
	case o.request != "":
		return answer(o.request, out)
	case o.read != "":
		r, err := read(o.read)
		if err != nil {
			return err
		}
		return o.print(r, out)
	}
	r, err := o.measure(ctx, child, progress)
	if err != nil {
		return err
	}
	if o.save != "" {
		if err := save(o.save, r); err != nil {
			return err
		}
	}
	if err := o.print(r, out); err != nil {
		return err
	}
	if r.Failed() {
		return errors.New("not everything could be measured: see the rows that FAILED")
	}
	return nil
}

// answer runs one request, for the process that has asked for it.
func answer(request string, out io.Writer) error {
	var q measure.Request
	if err := json.Unmarshal([]byte(request), &q); err != nil {
		return err
	}
	s, err := q.Run()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(s)
}

func read(name string) (*report.Report, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return report.ReadJSON(bytes.NewReader(text))
}

func save(name string, r *report.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(r.WriteJSON(f), f.Close())
}
