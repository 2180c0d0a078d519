package httpsyntax_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/httpsyntax"
)

func TestIsHost(t *testing.T) {
	name := strings.Repeat("a.", 127) + "a" // of 255 bytes
	for _, s := range []string{
		"api.example", "API.example.:80", "localhost", "a_b.example", "192.0.2.1:80", "[2001:db8::1]", "[::1]:80",
		"xn--bcher-kva.example", "a:", name, name + ":65535",
	} {
		if !httpsyntax.IsHost(s) {
			t.Errorf("%q is a host", s)
		}
	}
	for _, s := range []string{
		"", ".", "api.example..", "a..b", ".example", "[api.example]", "[::1%eth0]", "[192.0.2.1]", "[::1", "::1", "[::1]x", "[::1]:x",
		"api%2eexample", "api.example:x", "a,b", "a b", "a/b", "a@b", "é", "a:1:2", name + "aaaaaaa",
	} {
		if httpsyntax.IsHost(s) {
			t.Errorf("%q is no host", s)
		}
	}
}
