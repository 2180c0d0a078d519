package policy

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad: whatever the bytes are, loading them ends, says where what is wrong
// stands, and what loads compiles again from its own Config.
func FuzzLoad(f *testing.F) {
	for _, folder := range []string{"valid", "broken"} {
		names, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, "WEIR_ENFORCE=on")
		}
	}
	f.Add([]byte("version: 1"), "WEIR_CLIENT_IP_TRUSTED_PROXIES=10.0.0.0/8")
	f.Fuzz(func(t *testing.T, text []byte, variable string) {
		p, found := Load(Source{Name: "-", Stdin: text, Environ: []string{variable}, ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
		if (p == nil) != (found.Err() != nil) {
			t.Fatalf("policy %v, found %v", p != nil, found)
		}
		if len(found) > mostDiagnostics+1 {
			t.Fatalf("%d found", len(found))
		}
		lines := bytes.Split(text, []byte("\n"))
		for _, d := range found {
			switch {
			case d.Code == "" || d.Message == "":
				t.Fatalf("it says nothing: %+v", d)
			case d.Line == 0:
			case d.Line > len(lines), d.Column < 1, d.Column > len(lines[d.Line-1])+1, d.Length < 1:
				t.Fatalf("outside the text: %+v", d)
			}
		}
		var b strings.Builder
		if err := found.Print(&b, false); err != nil {
			t.Fatal(err)
		}
		if p == nil || p.Config().JWT != nil {
			return // keys come of the environment, which is not handed on
		}
		if _, err := Compile(*p.Config()); err != nil && !strings.Contains(err.Error(), "missing-secret") {
			t.Fatalf("its Config does not compile: %v", err)
		}
	})
}
