package policy

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update writes golden files instead of comparing with them:
// go test ./policy -run TestBroken -update.
func update() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write golden files instead of comparing with them")
	flag.Parse()
	os.Exit(m.Run())
}

// golden compares what was got with a file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if update() {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; make it with -update, and read it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// texts are the rules files of a folder.
func texts(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return names
}

// loadFile loads a file of testdata under its bare name, so that messages do not
// depend on where the test runs. Lines `# env NAME=value` at its beginning are
// its environment, and `# daemon` says that it is for one.
func loadFile(t *testing.T, name string) (*Policy, Diagnostics) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Name: filepath.Base(name), ReadFile: func(file string) ([]byte, error) {
		return os.ReadFile(filepath.Join(filepath.Dir(name), file))
	}}
	for line := range strings.Lines(string(text)) {
		if pair, ok := strings.CutPrefix(line, "# env "); ok {
			s.Environ = append(s.Environ, strings.TrimSpace(pair))
		}
		s.Daemon = s.Daemon || line == "# daemon\n"
	}
	return Load(s)
}

func TestBroken(t *testing.T) {
	for _, name := range texts(t, "broken") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			policy, found := loadFile(t, name)
			warned := strings.HasPrefix(filepath.Base(name), "warn-")
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			if (policy != nil) != warned || (found.Err() == nil) != warned {
				t.Errorf("files named warn- load with warnings, others do not load: policy %v", policy != nil)
			}
			if policy != nil && len(policy.Warnings()) != len(found) {
				t.Errorf("%d warnings are kept of %d", len(policy.Warnings()), len(found))
			}
			var b bytes.Buffer
			if err := found.Print(&b, false); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(name, ".yaml")+".golden", b.Bytes())
			checkPlaces(t, name, found)
		})
	}
}

// checkPlaces holds that every place lies in the file, and that nothing is said
// twice.
func checkPlaces(t *testing.T, name string, found Diagnostics) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, d := range found {
		if d.Line == 0 {
			continue
		}
		if d.Line > len(lines) || d.Column < 1 || d.Column > len(lines[d.Line-1])+1 || d.Length < 1 {
			t.Errorf("%s lies outside the file", d.String())
		}
		if slices.Contains(found[:i], d) {
			t.Errorf("%s is said twice", d.String())
		}
	}
}

func TestValid(t *testing.T) {
	for _, name := range texts(t, "valid") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			policy, found := loadFile(t, name)
			if policy == nil || len(found) > 0 {
				t.Fatalf("%v", found)
			}
			if len(policy.Digest()) != 12 || policy.Files()[0] != filepath.Base(name) {
				t.Errorf("digest %q, files %v", policy.Digest(), policy.Files())
			}
			again, err := Compile(*policy.Config())
			if policy.Config().JWT == nil && (err != nil || again == nil) {
				t.Errorf("its own Config does not compile: %v", err)
			}
		})
	}
}
