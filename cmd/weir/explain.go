package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/internal/httpsyntax"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// explainFlags are those of `weir explain`.
type explainFlags struct {
	server, token  string
	ip, peer, host string
	headers        []string
	cost           int64
	all, json      bool
}

// stranger is an address of documentation (RFC 5737), for requests of nobody in
// particular.
const stranger = "192.0.2.1"

// methods are those that everybody knows. HTTP tells cases apart, and nobody means
// another by the small letters.
var methods = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}

const explainLong = `Say which rules a request meets, and why: the caller's address and how it was
found, each rule's key, plan and limits, and what the caller would be answered.
Nothing is charged.

  weir explain weir.yaml 'POST /api/v1/jobs' --ip 203.0.113.7
  weir explain weir.yaml 'GET https://api.example/search?q=x' --header 'X-Api-Key: k'
  weir explain --server http://127.0.0.1:8080 'POST /api/v1/jobs' --ip 203.0.113.7

With FILE the balances are those of a caller who has used nothing; with --server
a daemon is asked, and they are what is left now. Its hashes of keys are those of
its log: so it can be told whether a line there is of this caller.

--ip is the caller's address as it is known for sure. --peer in its place is the
connection's, from which the caller's is found by the header that trusted proxies
send.`

func newExplainCmd(env *Env) *cobra.Command {
	var flags explainFlags
	cmd := &cobra.Command{
		Use:               "explain [FILE] 'METHOD PATH'",
		Short:             "Say which rules a request meets, and why",
		Long:              explainLong,
		Args:              quotedRequest,
		ValidArgsFunction: completeRequest(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := env.interruptible(cmd.Context())
			defer stop()
			return explain(ctx, env, args, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.ip, "ip", "", "the caller's address, known for sure (default "+stranger+" without --peer)")
	f.StringVar(&flags.peer, "peer", "", "the connection's address, ADDRESS or ADDRESS:PORT")
	f.StringArrayVarP(&flags.headers, "header", "H", nil, "a header field, 'Name: value'; may be repeated")
	f.StringVar(&flags.host, "host", "", "the Host of the request")
	wholeVar(cmd, &flags.cost, "cost", "", decide.MostCost, "the cost, 1 or more, instead of what rules say")
	f.StringVar(&flags.server, "server", "", "URL of a daemon's http listener, or unix:PATH: explain with live balances")
	f.StringVar(&flags.token, "token", "", "where the listener's token is: env:NAME or file:PATH")
	f.BoolVar(&flags.all, "all", false, "say of each rule that does not apply why it does not")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

// quotedRequest refuses a request whose method and path are two arguments, and more
// than a file and a request.
func quotedRequest(cmd *cobra.Command, args []string) error {
	for i := range len(args) - 1 {
		method := strings.ToUpper(args[i])
		if request := method + " " + args[i+1]; slices.Contains(methods[:], method) && isRequest(request) {
			return usagef("%s and %s are two arguments: quote the request, '%s'", args[i], args[i+1], request)
		}
	}
	return atMost(2)(cmd, args)
}

func explain(ctx context.Context, env *Env, args []string, flags explainFlags) error {
	if len(args) == 0 {
		return usagef("a request is missing, such as 'POST /api/v1/jobs'")
	}
	if len(args) == 2 && isRequest(args[0]) && !isRequest(args[1]) {
		args = []string{args[1], args[0]} // in the other order it is as clear
	}
	file, line := args[:len(args)-1], args[len(args)-1]
	request, err := flags.request(env, line)
	if err != nil {
		return err
	}
	var found *decide.ExplainAnswer
	field := "" // in which proxies name callers; a daemon is told the caller's address
	switch {
	case flags.server == "":
		var p *policy.Policy
		if p, err = load(env, file); err == nil {
			field = p.Config().ClientIP.Header
			found, err = explainFile(ctx, env, p, request)
		}
	case len(file) > 0:
		err = usagef("%s and --server: name one of them", file[0])
	default:
		found, err = explainServer(ctx, env, flags, request)
	}
	if err != nil {
		return err
	}
	if flags.json {
		return printJSON(env.Stdout, found)
	}
	return printExplanation(env.Stdout, found, field, flags.all)
}

// isRequest reports whether an argument can be nothing but a request.
func isRequest(text string) bool {
	method, target, ok := strings.Cut(strings.TrimSpace(text), " ")
	target = strings.TrimSpace(target)
	return ok && !strings.ContainsAny(method, "/.") && (strings.HasPrefix(target, "/") || strings.Contains(target, "://"))
}

// load reads the rules file that the command line names, or the one that is found.
func load(env *Env, file []string) (*policy.Policy, error) {
	source, err := env.source(file)
	if err != nil {
		return nil, err
	}
	p, wrong := policy.Load(source)
	if p == nil {
		return nil, env.invalid(wrong)
	}
	return p, nil
}

// explainFile explains by a file, on a store in which nobody has used anything.
func explainFile(ctx context.Context, env *Env, p *policy.Policy, r *weir.Request) (*decide.ExplainAnswer, error) {
	table := daemon.StoreConfig(p.Config().Memory)
	table.Now = func() weir.Micros { return weir.Micros(env.Now().UnixMicro()) }
	store, err := memstore.New(table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // memory has nothing to lose
	engine, err := policy.NewEngine(policy.EngineConfig{Policy: p, Store: store, Now: env.Now})
	if err != nil {
		return nil, err
	}
	writer, err := header.New(daemon.HeaderConfig(p.Config().Headers))
	if err != nil {
		return nil, err
	}
	return decide.Rules{Explain: engine.Explain, Header: writer}.Explained(ctx, r), nil
}

// explainServer asks a daemon.
func explainServer(ctx context.Context, env *Env, flags explainFlags, r *weir.Request) (*decide.ExplainAnswer, error) {
	if flags.peer != "" {
		return nil, usagef("--peer and --server: a daemon is told the caller's address, with --ip")
	}
	c, err := newClient(env, flags.server, flags.token)
	if err != nil {
		return nil, err
	}
	ask := decide.CheckRequest{Method: r.Method, Host: r.Host, Path: r.Path, Query: r.Query, Headers: r.Header, IP: r.Addr.String(), Cost: r.Cost}
	found, err := c.Explain(ctx, ask)
	return found, asked(err)
}

// request reads the line and the flags.
func (f *explainFlags) request(env *Env, line string) (*weir.Request, error) {
	method, target, ok := strings.Cut(strings.TrimSpace(line), " ")
	target = strings.TrimSpace(target)
	if !ok || target == "" || strings.ContainsAny(target, " \t") {
		return nil, usagef("request %q: write the method and the path, such as 'POST /api/v1/jobs'", line)
	}
	if upper := strings.ToUpper(method); upper != method && slices.Contains(methods[:], upper) {
		return nil, usagef("request %q: methods are written in capitals; did you mean %s?", line, upper)
	}
	r := &weir.Request{Method: method, Host: f.host, Header: map[string][]string{}, Cost: f.cost}
	if err := split(r, target); err != nil {
		return nil, err
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, usagef("--header %q: write it 'Name: value'", h)
		}
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") { // net/http keeps it apart
			r.Host = value
			continue
		}
		http.Header(r.Header).Add(name, value)
	}
	return r, f.address(env, r)
}

// split takes a target apart: a path with or without a query, or a whole URL.
// Nothing of it is decoded.
func split(r *weir.Request, target string) error {
	path, query, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		u, err := url.Parse(target)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return usagef("request %q: a path begins with a slash, a URL with http:// or https://", target)
		}
		_, path, _ = strings.Cut(path, "://")
		_, path, _ = strings.Cut(path, "/")
		path = "/" + path
		if r.Host == "" {
			r.Host = u.Host
		}
	}
	if r.Host != "" && !httpsyntax.IsHost(r.Host) {
		return usagef("host %q is none: write a name or an address, with the port where there is one", r.Host)
	}
	r.Path, r.Query = path, query
	return nil
}

// address reads --ip and --peer.
func (f *explainFlags) address(env *Env, r *weir.Request) error {
	switch {
	case f.ip != "" && f.peer != "":
		return usagef("--ip %s and --peer %s: name one of them: --ip is the caller's address, with --peer it is found", f.ip, f.peer)
	case f.peer != "":
		return readPeer(f.peer, r)
	case f.ip == "":
		r.Addr = netip.MustParseAddr(stranger)
		fmt.Fprintf(env.Stderr, "weir: no --ip and no --peer: explained for a caller at %s\n", stranger)
		return nil
	}
	addr, err := netip.ParseAddr(f.ip)
	if err != nil {
		return usagef("--ip %s: it is no address, such as 203.0.113.7 or 2001:db8::1", f.ip)
	}
	r.Addr = addr
	return nil
}

// readPeer reads --peer, with or without a port.
func readPeer(peer string, r *weir.Request) error {
	r.RemoteAddr = peer
	if addr, err := netip.ParseAddr(peer); err == nil {
		r.RemoteAddr = netip.AddrPortFrom(addr, 0).String()
	} else if _, err := netip.ParseAddrPort(peer); err != nil {
		return usagef("--peer %s: it is no address, such as 203.0.113.7 or [2001:db8::1]:443", peer)
	}
	return nil
}

// completeRequest completes the file, and behind it the patterns of its rules.
func completeRequest(env *Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return completeFile(cmd, args, typed)
		}
		p, _ := policy.Load(policy.Source{Name: args[0], ReadFile: env.readFile, Environ: env.Environ})
		if p == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list []string
		for _, rule := range p.Config().Rules {
			list = append(list, rule.Match...)
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}
