package listen

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir/clientip"
)

// Listener is a net.Listener that keeps to its caps. It comes from [Open] and is
// safe for concurrent use. Accept gives connections as they are, without TLS.
type Listener struct {
	inner  net.Listener
	config Config

	exempt atomic.Pointer[[]netip.Prefix]

	accepted, refusedFull, refusedPeer atomic.Int64

	mu    sync.Mutex
	open  map[*conn]struct{}
	peers map[netip.Prefix]int // only those with connections
	empty chan struct{}        // closed when the last connection goes; nil: nobody waits
}

// Counts is what a Listener has seen since it was opened.
type Counts struct {
	Accepted    int64 // connections that were let in
	RefusedFull int64 // closed at once for MaxConns
	RefusedPeer int64 // closed at once for MaxConnsPerIP
	Open        int64 // connections now
}

// Open binds the address. The error joins a [*weir.FieldError] for each thing
// that is wrong with c, or says why the address cannot be had. A socket file
// that a dead process left is replaced; one that is listened on is not.
func Open(ctx context.Context, c Config) (*Listener, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	inner, err := bind(ctx, c.Address)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		inner:  inner,
		config: c,
		open:   map[*conn]struct{}{},
		peers:  map[netip.Prefix]int{},
	}
	l.SetExempt(c.Exempt)
	return l, nil
}

func bind(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		return bindUnix(ctx, path)
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}

// SetExempt replaces Config.Exempt, for connections that come from now on.
func (l *Listener) SetExempt(networks []netip.Prefix) {
	list := make([]netip.Prefix, len(networks))
	for i, p := range networks {
		list[i] = plain(p)
	}
	l.exempt.Store(&list)
}

// plain writes a network of IPv4-mapped addresses as the IPv4 network it is.
func plain(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

// Counts gives the counters as they stand.
func (l *Listener) Counts() Counts {
	l.mu.Lock()
	open := len(l.open)
	l.mu.Unlock()
	return Counts{
		Accepted:    l.accepted.Load(),
		RefusedFull: l.refusedFull.Load(),
		RefusedPeer: l.refusedPeer.Load(),
		Open:        int64(open),
	}
}

// Addr is where the Listener listens, with the port that was chosen.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close stops listening. Open connections stay.
func (l *Listener) Close() error { return l.inner.Close() }

// Accept waits for the next connection that fits the caps, closing those that
// do not.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.inner.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, of: l, peer: l.peer(inner.RemoteAddr())}
		if counter := l.admit(c); counter != nil {
			counter.Add(1)
			_ = inner.Close() // it was never ours
			continue
		}
		l.accepted.Add(1)
		return c, nil
	}
}

// peer is what a connection is counted under; invalid where it is not counted
// by caller.
func (l *Listener) peer(address net.Addr) netip.Prefix {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, network := range *l.exempt.Load() {
		if network.Contains(addr) {
			return netip.Prefix{}
		}
	}
	var plain *clientip.Resolver // its zero value cuts addresses to what one caller holds
	return plain.Prefix(addr)
}

// admit counts c among the open connections, or names the counter of the cap
// that it would break.
func (l *Listener) admit(c *conn) *atomic.Int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.config.MaxConns {
		return &l.refusedFull
	}
	if c.peer.IsValid() {
		if l.peers[c.peer] >= l.config.MaxConnsPerIP {
			return &l.refusedPeer
		}
		l.peers[c.peer]++
	}
	l.open[c] = struct{}{}
	return nil
}

func (l *Listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	if c.peer.IsValid() {
		if l.peers[c.peer]--; l.peers[c.peer] == 0 {
			delete(l.peers, c.peer)
		}
	}
	if len(l.open) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// drained is closed when no connection is open.
func (l *Listener) drained() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.empty == nil {
		l.empty = make(chan struct{})
	}
	done := l.empty
	if len(l.open) == 0 {
		close(l.empty)
		l.empty = nil
	}
	return done
}

// closeAll closes every open connection.
func (l *Listener) closeAll() {
	l.mu.Lock()
	list := make([]*conn, 0, len(l.open))
	for c := range l.open {
		list = append(list, c)
	}
	l.mu.Unlock()
	for _, c := range list {
		_ = c.Close() // it is gone either way
	}
}

// conn is a connection that leaves the counts when it is closed.
type conn struct {
	net.Conn
	of   *Listener
	peer netip.Prefix
	gone atomic.Bool
}

// Close closes the connection; the first call gives its place free.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.gone.CompareAndSwap(false, true) {
		c.of.remove(c)
	}
	return err
}

// CloseWrite ends what is sent. net/http does so before it closes a connection
// that it has not read to the end, and a tunnel when one side has ended.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
