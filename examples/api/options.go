package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// options are what the command line says.
type options struct {
	addr   string
	match  string
	limits texts
	trust  networks
	prefix int
	debug  bool
}

// errUsage means that the command line is wrong and that package flag has said
// why.
var errUsage = errors.New("usage")

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("api", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.addr, "addr", "127.0.0.1:8000", "listen on this `address`")
	f.StringVar(&o.match, "match", "POST /api/v1/jobs", "limit requests of this `pattern`; / is all of them")
	f.Var(&o.limits, "limit", "a `limit`, such as '5/s burst 5' or '1000/day fixed-window'; may be repeated (default 5/s burst 5)")
	f.Var(&o.trust, "trust", "believe X-Forwarded-For of proxies in this `network`; may be repeated (default none)")
	f.IntVar(&o.prefix, "prefix", 32, "count the IPv4 addresses of networks of this `length` together")
	f.BoolVar(&o.debug, "debug", false, "tell in X-Weir-Decided when a request was decided")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
		return o, errUsage
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "api takes no arguments, only flags: %q\n", f.Args())
		return o, errUsage
	}
	if len(o.limits) == 0 {
		o.limits = texts{"5/s burst 5"}
	}
	return o, nil
}

// texts collects the values of a flag that may be repeated.
type texts []string

// String is the value as it is printed.
func (t *texts) String() string { return strings.Join(*t, ", ") }

// Set adds a value.
func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

// networks collects networks such as 10.0.0.0/8.
type networks []netip.Prefix

// String is the value as it is printed.
func (n *networks) String() string { return fmt.Sprint(*n) }

// Set adds a network.
func (n *networks) Set(s string) error {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return errors.New("write a network such as 10.0.0.0/8, or 10.0.0.1/32 for one address")
	}
	*n = append(*n, p)
	return nil
}
