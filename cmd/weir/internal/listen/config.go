package listen

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// Config says where to listen and what one caller may take up there. The zero
// value of each field but Address is a default; none of them means unlimited.
type Config struct {
	// Address is `host:port`, `:port` for all interfaces, or `unix:` and the
	// path of a socket, which is made with mode 0660. Port 0 chooses one.
	Address string

	// TLS, where it is set, needs a certificate; HTTP/2 is offered then, and
	// only then. It is cloned.
	TLS *tls.Config

	// MaxConns bounds the open connections, 1 to 1,000,000; 0 means 10,000.
	MaxConns int

	// MaxConnsPerIP bounds those of one IPv4 address or one IPv6 /64, 1 to
	// MaxConns; 0 means 1,000, or MaxConns where that is less.
	MaxConnsPerIP int

	// Exempt are networks whose connections count towards MaxConns alone: the
	// trusted proxies, which hold the connections of many callers. Peers of a
	// Unix socket have no address, and are exempt as well.
	Exempt []netip.Prefix

	// Streams leaves bodies and answers without a time limit here, for a
	// handler that sets deadlines as it reads and writes. Others get
	// Timeouts.Body and Timeouts.Answer for the whole of each.
	Streams bool

	// Timeouts are how long a caller may take.
	Timeouts Timeouts

	// Logger is told of panics and failures to accept as errors, of everything
	// that any scanner can provoke at debug level, and never of addresses. nil
	// is slog.Default.
	Logger *slog.Logger
}

// Timeouts are how long a caller may take. The zero value of each field is its
// default; a negative one is refused.
type Timeouts struct {
	// Header is the time for a header to arrive from its first byte on, and
	// for a TLS handshake; 10 s.
	Header time.Duration

	// Idle is the time between two requests of a connection; 120 s.
	Idle time.Duration

	// Body is the time for header and body to arrive, without Streams; 30 s.
	Body time.Duration

	// Answer is the time in which a request must be answered and the answer
	// read, without Streams; 30 s.
	Answer time.Duration

	// Ping is the silence after which an HTTP/2 peer is asked whether it is
	// there, and then the time it has to say so, and the longest that it may
	// take nothing of what waits to be written; 30 s.
	Ping time.Duration
}

const (
	// defaultMaxConns holds some hundreds of megabytes when all are busy, and
	// twice its number of descriptors with those to the upstream.
	defaultMaxConns = 10_000
	// mostMaxConns is more than one process can serve; a larger number is a
	// slip.
	mostMaxConns = 1_000_000
	// defaultMaxConnsPerIP is a tenth of all: a university or a mobile
	// carrier behind one address fits, and ten callers, not one, are needed
	// to take every connection there is.
	defaultMaxConnsPerIP = 1_000

	defaultHeader = 10 * time.Second  // a phone in a tunnel sends a header in less
	defaultIdle   = 120 * time.Second // longer than most proxies keep theirs open
	defaultBody   = 30 * time.Second  // the surfaces without streams take some kilobytes
	defaultAnswer = 30 * time.Second
	defaultPing   = 30 * time.Second

	// maxHeaderBytes bounds a header, line ends included. A browser's cookies
	// fill 8 KiB at the most of most servers.
	maxHeaderBytes = 32 << 10
	// maxStreams bounds the requests of one HTTP/2 connection at a time, and
	// with it the handlers that a stream of resets leaves running.
	maxStreams = 100
)

const unixPrefix = "unix:"

// complete fills in the defaults of c, or says all that is wrong with it.
func (c Config) complete() (Config, error) {
	if err := c.validate(); err != nil {
		return c, err
	}
	c.MaxConns = cmp.Or(c.MaxConns, defaultMaxConns)
	c.MaxConnsPerIP = cmp.Or(c.MaxConnsPerIP, min(defaultMaxConnsPerIP, c.MaxConns))
	c.Timeouts.Header = cmp.Or(c.Timeouts.Header, defaultHeader)
	c.Timeouts.Idle = cmp.Or(c.Timeouts.Idle, defaultIdle)
	c.Timeouts.Body = cmp.Or(c.Timeouts.Body, defaultBody)
	c.Timeouts.Answer = cmp.Or(c.Timeouts.Answer, defaultAnswer)
	c.Timeouts.Ping = cmp.Or(c.Timeouts.Ping, defaultPing)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.TLS != nil {
		c.TLS = c.TLS.Clone()
	}
	return c, nil
}

func (c Config) validate() error {
	var errs []error
	add := func(field string, value any, problem, remedy string) {
		errs = append(errs, weir.Invalid(field, value, problem, remedy))
	}
	if problem, remedy := checkAddress(c.Address); problem != "" {
		add("address", c.Address, problem, remedy)
	}
	if c.MaxConns < 0 || c.MaxConns > mostMaxConns {
		add("max_conns", c.MaxConns, "from 1 to "+strconv.Itoa(mostMaxConns)+" connections can be open", "leave it out for "+strconv.Itoa(defaultMaxConns))
	}
	total := cmp.Or(c.MaxConns, defaultMaxConns)
	if c.MaxConnsPerIP < 0 || c.MaxConnsPerIP > total {
		add("max_conns_per_ip", c.MaxConnsPerIP, "one caller can hold from 1 connection to all of max_conns", "write at most "+strconv.Itoa(total))
	}
	for _, t := range c.Timeouts.named() {
		if t.value < 0 {
			add("timeout of "+t.name, t.value, "time does not run back", "leave it out for the default")
		}
	}
	return errors.Join(errs...)
}

type namedTimeout struct {
	name  string
	value time.Duration
}

func (t Timeouts) named() []namedTimeout {
	return []namedTimeout{{"header", t.Header}, {"idle", t.Idle}, {"body", t.Body}, {"answer", t.Answer}, {"ping", t.Ping}}
}

// checkAddress says what is wrong with an address, "" for nothing.
func checkAddress(address string) (problem, remedy string) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		if path == "" {
			return "the socket has no path", "write it like unix:/run/weir.sock"
		}
		return "", ""
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "it is no address to listen on", "write host:port, :port or unix:/path"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "the port is no number from 0 to 65535", "write host:port, such as 127.0.0.1:8080"
	}
	return "", ""
}
