package expect_test

import (
	"errors"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/expect"
)

// silent is a store that wants to know nothing.
type silent struct{ weir.Store }

// expecting is a store that notes what it is told to expect.
type expecting struct {
	weir.Store
	expected int
}

func (s *expecting) Expect(limits ...*weir.Limit) error {
	s.expected += len(limits)
	return nil
}

// replacing is one that can replace it, and does not want to.
type replacing struct{ expecting }

var errNoSet = errors.New("no such set")

func (s *replacing) ExpectOnly(reserved map[string]int, limits ...*weir.Limit) error {
	s.expected = len(limits) + 100*reserved["api"]
	return errNoSet
}

func TestOnlyAsksWhatThereIs(t *testing.T) {
	l := weir.MustLimit("api", "5/s")
	if err := errors.Join(expect.Only(silent{}, nil, l), expect.Limits(silent{}, l)); err != nil {
		t.Error(err)
	}
	s := &expecting{}
	if err := expect.Only(s, map[string]int{"api": 7}, l, l); err != nil || s.expected != 2 {
		t.Errorf("told of %d, %v", s.expected, err)
	}
	only := &replacing{}
	if err := expect.Only(only, map[string]int{"api": 7}, l); !errors.Is(err, errNoSet) || only.expected != 701 {
		t.Errorf("told of %d, %v", only.expected, err)
	}
}
