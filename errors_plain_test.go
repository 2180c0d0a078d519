package weir_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// What a caller wrote cannot forge a line of the log or move a terminal's
// cursor.
func TestErrorsAreOnePlainLine(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		err := &weir.FieldError{Field: "unit", Value: value, Problem: "unknown unit", Remedy: "write s"}
		if got := err.Error(); got != "weir: unit "+want+": unknown unit; write s" {
			t.Errorf("got %s", got)
		}
	}
	f("parsec", "parsec")
	f("Straße", "Straße")
	f("a\nlevel=info msg=admin", `"a\nlevel=info msg=admin"`)
	f("\x1b[2J", `"\x1b[2J"`)
	f("\xff", `"\xff"`)
	f("a\x00", `"a\x00"`)
	f(strings.Repeat("x", 5000), strings.Repeat("x", 120)+"…")
	_, err := weir.ParseSpec("5/\x1b[2J\u202e")
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("error %q", err)
	}
}

// A limiter tells its store which limits to expect, and hears when there is no
// room for them.
func TestNewTellsTheStoreItsLimits(t *testing.T) {
	store, err := memstore.New(memstore.Config{MaxKeys: 64}) // cells for eight limits
	if err != nil {
		t.Fatal(err)
	}
	var limits []*weir.Limit
	for name := range strings.FieldsSeq("a b c d e f g h i") {
		limits = append(limits, weir.MustLimit(name, "5/s"))
	}
	if _, err := weir.New(store, limits...); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("nine limits: %v", err)
	}
	if _, err := weir.New(store, append(limits[:8:8], weir.MustLimit("free", "unlimited"))...); err != nil {
		t.Errorf("eight limits: %v", err)
	}
	if got := len(store.Stats().Rules); got != 8 {
		t.Errorf("the store expects %d rules, want 8", got)
	}
}
