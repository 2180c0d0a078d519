package listen_test

import (
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
)

// accept takes connections as a server would, and hands them on.
func accept(t *testing.T, l *listen.Listener) <-chan net.Conn {
	t.Helper()
	ch := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(ch)
				return
			}
			ch <- c
		}
	}()
	t.Cleanup(func() { l.Close() })
	return ch
}

func TestCaps(t *testing.T) {
	for _, test := range []struct {
		name   string
		config listen.Config
		want   listen.Counts // after five connections
	}{
		{"all", listen.Config{MaxConns: 3, MaxConnsPerIP: 3}, listen.Counts{Accepted: 3, RefusedFull: 2, Open: 3}},
		{"one address", listen.Config{MaxConnsPerIP: 2}, listen.Counts{Accepted: 2, RefusedPeer: 3, Open: 2}},
		{"its default", listen.Config{MaxConns: 4}, listen.Counts{Accepted: 4, RefusedFull: 1, Open: 4}},
		{"exempt", listen.Config{MaxConns: 4, MaxConnsPerIP: 1, Exempt: networks("::ffff:127.0.0.0/104")}, listen.Counts{Accepted: 4, RefusedFull: 1, Open: 4}},
		{"unix", listen.Config{Address: "unix:" + filepath.Join(t.TempDir(), "s"), MaxConns: 4, MaxConnsPerIP: 1}, listen.Counts{Accepted: 4, RefusedFull: 1, Open: 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, test.config)
			accepted := accept(t, l)
			clients := make([]net.Conn, 5)
			for i := range clients {
				clients[i] = dial(t, l)
				n := int64(i + 1)
				eventually(t, "the connection is counted", func() bool {
					c := l.Counts()
					return c.Accepted+c.RefusedFull+c.RefusedPeer == n
				})
			}
			if got := l.Counts(); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			ends(t, "the one above the cap", clients[4])
			first := <-accepted
			first.Close()
			first.Close() // gives its place free once
			if got := l.Counts().Open; got != test.want.Open-1 {
				t.Errorf("%d open after a close", got)
			}
			dial(t, l)
			eventually(t, "the place is taken again", func() bool { return l.Counts().Accepted == test.want.Accepted+1 })
			for range test.want.Open {
				(<-accepted).Close()
			}
			if got := l.Counts().Open; got != 0 {
				t.Errorf("%d open at the end", got)
			}
		})
	}
}

func networks(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// A reload of the trusted proxies holds for the next connection.
func TestSetExempt(t *testing.T) {
	l := open(t, listen.Config{MaxConnsPerIP: 1})
	accept(t, l)
	dial(t, l)
	dial(t, l)
	eventually(t, "the second is refused", func() bool { return l.Counts().RefusedPeer == 1 })
	l.SetExempt(networks("127.0.0.1/32"))
	dial(t, l)
	eventually(t, "the third is let in", func() bool { return l.Counts().Accepted == 2 })
}
