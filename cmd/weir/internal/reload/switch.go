package reload

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/weirhq/weir/policy"
)

// SwitchConfig is what a Switch works with.
type SwitchConfig struct {
	// File may hold shadow or off; on, nothing and no file at all are on.
	File string

	// ReadFile is how it is read; nil is os.ReadFile.
	ReadFile func(string) ([]byte, error)

	// Set is told the position at the first look, and when it changes.
	Set func(policy.Enforce)

	// Log is told of changes, and of what cannot be understood; nil is
	// slog.Default.
	Log *slog.Logger
}

// Switch is a file by which enforcement is turned off, or down to shadow, without
// anything else having to work. It belongs to one goroutine. Make it with
// [NewSwitch].
type Switch struct {
	config SwitchConfig
	at     policy.Enforce // "" before the first look
	faulty string         // what was complained of last
}

// NewSwitch makes a Switch; nothing is read yet.
func NewSwitch(c SwitchConfig) *Switch {
	if c.ReadFile == nil {
		c.ReadFile = os.ReadFile
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Switch{config: c}
}

// Check looks at the file. What cannot be read or understood leaves the position
// as it is, and is told once.
func (s *Switch) Check(ctx context.Context) {
	to, fault := s.look()
	if fault != "" {
		if fault != s.faulty {
			s.config.Log.WarnContext(ctx, "the switch file is not understood: the switch stays as it is",
				"file", s.config.File, "problem", fault, "switch", s.position())
		}
		s.faulty = fault
		to = s.position()
	} else {
		s.faulty = ""
	}
	if to == s.at {
		return
	}
	if s.at != "" || to != policy.On {
		s.config.Log.WarnContext(ctx, "the switch was turned", "file", s.config.File, "from", s.position(), "to", to)
	}
	s.at = to
	s.config.Set(to)
}

// position is on until something else was read.
func (s *Switch) position() policy.Enforce {
	if s.at == "" {
		return policy.On
	}
	return s.at
}

// look reads the file. The fault is what is wrong with it, "" for nothing; what
// it holds is not repeated at length, for it may be the wrong file.
func (s *Switch) look() (to policy.Enforce, fault string) {
	content, err := s.config.ReadFile(s.config.File)
	if errors.Is(err, fs.ErrNotExist) {
		return policy.On, ""
	}
	if err != nil {
		return "", err.Error()
	}
	switch to := policy.Enforce(strings.TrimSpace(string(content))); to {
	case "", policy.On:
		return policy.On, ""
	case policy.Shadow, policy.Off:
		return to, ""
	}
	return "", "it may hold on, shadow or off, and nothing else"
}
