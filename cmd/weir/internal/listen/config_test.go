package listen_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
)

func TestConfigIsChecked(t *testing.T) {
	for _, test := range []struct {
		config listen.Config
		want   string // "" for none
	}{
		{listen.Config{Address: "127.0.0.1:0"}, ""},
		{listen.Config{Address: ""}, "address"},
		{listen.Config{Address: "8000"}, "address 8000"},
		{listen.Config{Address: ":http"}, "the port is no number"},
		{listen.Config{Address: ":65536"}, "the port is no number"},
		{listen.Config{Address: "unix:"}, "no path"},
		{listen.Config{Address: ":0", MaxConns: -1}, "max_conns -1"},
		{listen.Config{Address: ":0", MaxConns: 1_000_001}, "max_conns 1000001"},
		{listen.Config{Address: ":0", MaxConnsPerIP: -1}, "max_conns_per_ip -1"},
		{listen.Config{Address: ":0", MaxConns: 5, MaxConnsPerIP: 6}, "max_conns_per_ip 6"},
		{listen.Config{Address: ":0", Timeouts: listen.Timeouts{Idle: -time.Second}}, "timeout of idle"},
	} {
		l, err := listen.Open(t.Context(), test.config)
		if err == nil {
			l.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.config, err)
		}
	}
	_, err := listen.Open(t.Context(), listen.Config{MaxConns: -1})
	for _, part := range []string{"address", "max_conns"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
}

// The caller's configuration of TLS stays as it is.
func TestTLSIsCloned(t *testing.T) {
	c := &tls.Config{Certificates: certified(t).TLS.Certificates}
	serve(t, open(t, listen.Config{TLS: c}), ok)
	if len(c.NextProtos) > 0 {
		t.Errorf("NextProtos %q", c.NextProtos)
	}
}
