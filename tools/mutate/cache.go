package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// A cache keeps what trials have shown, a line of JSON each, so that a run can
// go on where another has stopped. A mutant that has died once stays dead as
// long as its file is the same; one that lived is tried again when the tests
// have changed. It may be used by several goroutines.
type cache struct {
	mu   sync.Mutex
	file *os.File
	all  map[string]record
}

// A record is one line.
type record struct {
	Key   string `json:"key"`   // the file with its change
	Tests string `json:"tests"` // the state of the tests
	outcome
}

func openCache(name string) (*cache, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c := &cache{all: map[string]record{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may have been cut
			c.all[r.Key] = r
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to begin anew", name, err)
	}
	if c.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		_, err = c.file.WriteString("\n")
	}
	return c, err
}

// get returns what is known of a mutant of a file.
func (c *cache) get(m mutant.Mutant, t prepared) (outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.all[keyOf(m, t)]
	return r.outcome, ok && (r.Status != survived || r.Tests == t.fingerprint)
}

func (c *cache) put(m mutant.Mutant, t prepared, o outcome) error {
	line, err := json.Marshal(record{keyOf(m, t), t.fingerprint, o})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.file.Write(append(line, '\n'))
	return err
}

func (c *cache) close() error { return c.file.Close() }

func keyOf(m mutant.Mutant, t prepared) string {
	text := t.code.text(m.File)
	before, after := sha256.Sum256(text), sha256.Sum256(m.Apply(text))
	return hex.EncodeToString(before[:16]) + hex.EncodeToString(after[:16])
}
