package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is where rules come from.
type Source struct {
	// Name is the rules file; "-" is Stdin.
	Name string

	// ReadFile reads the rules file and what it names; nil is os.ReadFile. A
	// name in the file, or in a variable, that is no absolute path is joined to
	// the folder of the rules file.
	ReadFile func(name string) ([]byte, error)

	// Stdin is what "-" reads.
	Stdin []byte

	// Environ is the environment as os.Environ gives it: WEIR_… variables
	// override single fields (WEIR_ENFORCE, WEIR_MEMORY_MAX_KEYS, …).
	Environ []string

	// Fits says how the store that the rules are meant for would take them. It is asked
	// about rules in which nothing else is wrong, and about the same rules with other
	// sizes, to find those that are enough. nil leaves what does not fit to [NewEngine],
	// whose errors have no place in the file.
	Fits func(*Policy) Fit

	// Daemon says that the rules are for a daemon, which listens where they say. Without
	// it they may be for a middleware, and need no listener.
	Daemon bool
}

// Load reads a rules file, the environment and the files that it names, and
// compiles them. The diagnostics are all there are, warnings included; the
// Policy is nil if there is an Error among them.
func Load(s Source) (*Policy, Diagnostics) {
	in := newIntake(s)
	text, err := in.rules(s)
	if err != nil {
		return nil, Diagnostics{{Severity: Error, Code: "unreadable-file", File: s.Name, Message: "cannot read the rules file: " + reason(err), Hint: "name an existing file, or - for standard input"}}
	}
	name := s.Name
	if name == "-" {
		name = "stdin"
	}
	r := &reader{source: newSource(name, text)}
	var config Config
	root := r.read()
	if root == nil {
		return nil, r.finish(nil)
	}
	config = r.decode(root)
	r.environ(s.Environ, &config)
	if r.halted {
		return nil, r.finish(nil)
	}
	policy, found := compile(config, inputs{readFile: in.readFile, getenv: in.getenv, fits: s.Fits, daemon: s.Daemon})
	found = r.finish(found)
	if found.Err() != nil {
		return nil, found
	}
	policy.warnings, policy.files, policy.digest = found, in.files, in.digest(s.Environ)
	return policy, found
}

// finish places what the compiler found, leaves out what only follows from a
// mistake of the text, and gives everything in the order of the file.
func (r *reader) finish(compiled Diagnostics) Diagnostics {
	all, more := slices.Clip(r.found), r.more
	for i := range all {
		r.reread(&all[i])
	}
	known := map[string]bool{} // the values of which it is said what was meant
	slices.SortStableFunc(compiled, func(a, b Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
	for _, d := range compiled {
		switch {
		case r.follows(d) || known[d.Path]:
		case len(all) >= 2*mostFound:
			more++
		default:
			known[d.Path] = r.reread(&d)
			r.inLines(&d)
			r.inVariables(&d)
			r.locate(&d)
			all = append(all, d)
		}
	}
	all = all.sorted(more)
	for i := range all {
		if slices.Contains(r.unspoken, all[i].Path) {
			all[i].Path = parentOf(all[i].Path)
		}
		if all[i].Line > 0 {
			all[i].Text = r.blot(all[i].Line)
		}
	}
	return all
}

// follows reports whether a complaint may come of a mistake that was found in the
// text: a field that was misspelt is missed where it should be, and a value that
// was refused is not there.
func (r *reader) follows(d Diagnostic) bool {
	return slices.ContainsFunc(r.found, func(known Diagnostic) bool {
		return known.Severity == Error && (within(known.Path, d.Path) || within(d.Path, known.Path) && known.Path != "")
	})
}

// intake reads for a Source and keeps account of what was read.
type intake struct {
	folder string
	read   func(name string) ([]byte, error)
	env    map[string]string
	files  []string
	hash   hash.Hash // of everything that was read, in order
}

func newIntake(s Source) *intake {
	in := &intake{read: s.ReadFile, env: map[string]string{}, hash: sha256.New()}
	if in.read == nil {
		in.read = os.ReadFile
	}
	for _, pair := range s.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			in.env[name] = value
		}
	}
	return in
}

// rules reads the rules file itself.
func (in *intake) rules(s Source) ([]byte, error) {
	if s.Name == "-" {
		in.note("rules", s.Stdin)
		return s.Stdin, nil
	}
	text, err := in.read(s.Name)
	if err != nil {
		return nil, err
	}
	in.folder = filepath.Dir(s.Name)
	in.files = append(in.files, s.Name)
	in.note("rules", text)
	return text, nil
}

// readFile reads what the rules file names.
func (in *intake) readFile(name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(in.folder, name)
	}
	text, err := in.read(name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(in.files, name) {
		in.files = append(in.files, name)
		in.note("file "+name, text)
	}
	return text, nil
}

// getenv gives what the rules file asks the environment for.
func (in *intake) getenv(name string) string {
	in.note("variable "+name, []byte(in.env[name]))
	return in.env[name]
}

// note adds to the digest. Lengths keep what is noted apart.
func (in *intake) note(what string, text []byte) {
	fmt.Fprintf(in.hash, "%d %s %d ", len(what), what, len(text))
	in.hash.Write(text)
}

// digest is that of everything that was read, with the variables that override
// fields.
func (in *intake) digest(environ []string) string {
	ours := slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, prefix) {
			return true
		}
		_, known := variableField(name)
		return !known
	})
	slices.Sort(ours)
	in.note("environment", []byte(strings.Join(ours, "\x00")))
	const digits = 12
	return hex.EncodeToString(in.hash.Sum(nil))[:digits]
}

// reason is an error of reading a file, without the file's name.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}
