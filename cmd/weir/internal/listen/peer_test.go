package listen

import (
	"net"
	"testing"
)

// What a connection is counted under: the address of IPv4, the /64 of IPv6.
func TestPeer(t *testing.T) {
	l := &Listener{}
	l.SetExempt(nil)
	peer := func(text, want string) {
		t.Helper()
		address := &net.TCPAddr{IP: net.ParseIP(text), Port: 1}
		if got := l.peer(address).String(); got != want {
			t.Errorf("%s is counted under %s, want %s", text, got, want)
		}
	}
	peer("192.0.2.1", "192.0.2.1/32")
	peer("::ffff:192.0.2.1", "192.0.2.1/32")
	peer("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64")
	peer("2001:db8:1:2:ffff::", "2001:db8:1:2::/64")
	peer("2001:db8::1.2.3.4", "2001:db8::/64")
	peer("64:ff9b::192.0.2.1", "192.0.2.1/32")
	if got := l.peer(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("a Unix socket is counted under %s", got)
	}
}
