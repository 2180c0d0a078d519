// Command measure compares weir's proxy with a bare httputil.ReverseProxy that
// adds the same fields, in pairs of runs that follow each other, and prints a
// bare proxy against another beside it. It needs wrk.
//
//	go build -o bin/ ./cmd/weir ./cmd/weir/internal/measure
//	bin/measure -weir bin/weir -pairs 7 -time 10s
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var (
		c    comparison
		role = flag.String("role", "", "serve as `upstream` or `bare`: what the comparison starts itself as")
		to   = flag.String("to", "", "the upstream's URL, for -role bare")
	)
	flag.StringVar(&c.weir, "weir", "bin/weir", "the binary to measure")
	flag.IntVar(&c.pairs, "pairs", 7, "how many pairs")
	flag.DurationVar(&c.time, "time", 10*time.Second, "how long each run takes")
	flag.IntVar(&c.connections, "connections", 32, "how many connections send requests")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, *role, *to, &c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, role, to string, c *comparison) error {
	switch role {
	case "upstream":
		return serve(ctx, upstream())
	case "bare":
		h, err := bare(to)
		if err != nil {
			return err
		}
		return serve(ctx, h)
	}
	return c.run(ctx)
}
