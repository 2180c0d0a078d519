package httpsyntax_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// tchar is the rule of RFC 9110, section 5.6.2, written out.
const tchar = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func TestIsTokenByte(t *testing.T) {
	for c := range 256 {
		if got, want := httpsyntax.IsTokenByte(byte(c)), strings.IndexByte(tchar, byte(c)) >= 0; got != want {
			t.Errorf("IsTokenByte(%q) = %t, want %t", byte(c), got, want)
		}
	}
}

func TestIsToken(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "X-Api-Key": true, "GET": true, "a b": false, "a:": false, "é": false, "a\x00": false, tchar: true,
	} {
		if got := httpsyntax.IsToken(s); got != want {
			t.Errorf("IsToken(%q) = %t, want %t", s, got, want)
		}
	}
}
