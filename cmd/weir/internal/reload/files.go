package reload

import (
	"crypto/sha256"
	"maps"
)

// reader is os.ReadFile, or something like it.
type reader func(name string) ([]byte, error)

// sum stands for what a file holds. All files that cannot be read are alike.
type sum struct {
	hash   [sha256.Size]byte
	failed bool
}

func sumOf(content []byte, err error) sum {
	if err != nil {
		return sum{failed: true}
	}
	return sum{hash: sha256.Sum256(content)}
}

// seen are the files that something was made of, with what they held then.
type seen map[string]sum

// recorded gives a reader that also notes what it has read. Of a file that is read
// twice the first content counts, so that a change between the two is found.
func (s seen) recorded(read reader) reader {
	return func(name string) ([]byte, error) {
		content, err := read(name)
		if _, twice := s[name]; !twice {
			s[name] = sumOf(content, err)
		}
		return content, err
	}
}

// tracker tells when files have changed, and stand still.
type tracker struct {
	read    reader
	made    seen // what was loaded last, or could not be
	pending seen // a difference that was found by the look before
}

// settled looks at the files, and reports whether they differ from what was made
// of them and have been as they are since the look before.
func (t *tracker) settled() bool {
	now := make(seen, len(t.made))
	for name := range t.made {
		now[name] = sumOf(t.read(name))
	}
	if maps.Equal(now, t.made) {
		t.pending = nil
		return false
	}
	if !maps.Equal(now, t.pending) {
		t.pending = now
		return false
	}
	return true
}

// begin starts a new list of files, for a load that reads by the reader it gives.
func (t *tracker) begin() reader {
	t.made, t.pending = seen{}, nil
	return t.made.recorded(t.read)
}
