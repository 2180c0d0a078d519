package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every Go block of the pages stands, as it is, in the code that is tested here.
func TestPagesShowTestedCode(t *testing.T) {
	for _, peer := range []string{"xtime", "ulule"} {
		code := sources(t, peer)
		page := read(t, "../../docs/migrate-"+peer+".md")
		blocks := strings.Split(page, "```go\n")[1:]
		if len(blocks) < 2 {
			t.Errorf("docs/migrate-%s.md shows %d blocks of Go, want one before and one after", peer, len(blocks))
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			if !strings.Contains(code, block) {
				t.Errorf("docs/migrate-%s.md shows what is in no file of bench/migrate/%s:\n%s", peer, peer, block)
			}
		}
	}
}

func sources(t *testing.T, peer string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(peer, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		all.WriteString(read(t, name))
	}
	return all.String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
