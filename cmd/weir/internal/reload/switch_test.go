package reload_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/reload"
	"github.com/weirhq/weir/policy"
)

// position is a look at a switch file: what it holds, and what the switch is set
// to thereby; "" for not at all.
type position struct {
	holds string
	err   error
	want  string
}

func TestSwitch(t *testing.T) {
	gone := &fs.PathError{Op: "open", Path: "switch", Err: fs.ErrNotExist}
	closed := &fs.PathError{Op: "open", Path: "switch", Err: fs.ErrPermission}
	for name, looks := range map[string][]position{
		"no file":             {{err: gone, want: "on"}, {err: gone}},
		"an empty file":       {{holds: "", want: "on"}, {holds: "  \n"}, {holds: "on"}, {err: gone}},
		"off and on":          {{holds: "on\n", want: "on"}, {holds: "off\n", want: "off"}, {holds: "off"}, {holds: "on", want: "on"}},
		"off at the start":    {{holds: "off", want: "off"}, {err: gone, want: "on"}},
		"shadow, then off":    {{holds: "shadow", want: "shadow"}, {holds: " off ", want: "off"}},
		"no word of ours":     {{holds: "shadow", want: "shadow"}, {holds: "of"}, {holds: "off", want: "off"}},
		"cannot be read":      {{holds: "off", want: "off"}, {err: closed}, {err: closed}, {holds: "off"}},
		"nonsense at first":   {{holds: "OFF", want: "on"}, {holds: "off", want: "off"}},
		"unreadable at first": {{err: closed, want: "on"}, {holds: "shadow", want: "shadow"}},
	} {
		t.Run(name, func(t *testing.T) { testSwitch(t, looks) })
	}
}

func testSwitch(t *testing.T, looks []position) {
	var now position
	set := ""
	s := reload.NewSwitch(reload.SwitchConfig{
		File:     "switch",
		ReadFile: func(string) ([]byte, error) { return []byte(now.holds), now.err },
		Set:      func(to policy.Enforce) { set += string(to) },
		Log:      slog.New(slog.DiscardHandler),
	})
	for i, look := range looks {
		now, set = look, ""
		s.Check(t.Context())
		if set != look.want {
			t.Errorf("look %d, at %q (%v): set to %q, want %q", i, look.holds, look.err, set, look.want)
		}
	}
}

func TestSwitchLog(t *testing.T) {
	var log bytes.Buffer
	var content string
	var fault error
	s := reload.NewSwitch(reload.SwitchConfig{
		File:     "switch",
		ReadFile: func(string) ([]byte, error) { return []byte(content), fault },
		Set:      func(policy.Enforce) {},
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	f := func(holds string, err error, lines int) {
		t.Helper()
		content, fault = holds, err
		log.Reset()
		s.Check(t.Context())
		if got := strings.Count(log.String(), "\n"); got != lines {
			t.Errorf("at %q: %d lines, want %d:\n%s", holds, got, lines, &log)
		}
		if holds != "" && strings.Contains(log.String(), "secret") {
			t.Errorf("the log repeats what the file holds:\n%s", &log)
		}
	}
	f("on", nil, 0)
	f("off", nil, 1)
	f("off", nil, 0)
	f("secret", nil, 1)
	f("secret", nil, 0) // once
	f("", errors.New("a disk that is gone"), 1)
	f("", errors.New("a disk that is gone"), 0)
	f("off", nil, 0) // as it is
	f("secret", nil, 1)
	f("on", nil, 1)
}

func TestSwitchFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "switch")
	var at policy.Enforce
	s := reload.NewSwitch(reload.SwitchConfig{File: name, Set: func(to policy.Enforce) { at = to }, Log: slog.New(slog.DiscardHandler)})
	s.Check(t.Context())
	if at != policy.On {
		t.Errorf("without a file: %q", at)
	}
	if err := os.WriteFile(name, []byte("shadow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Check(t.Context())
	if at != policy.Shadow {
		t.Errorf("with shadow in the file: %q", at)
	}
}
