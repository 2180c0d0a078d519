package policy

// Source is where rules come from.
type Source struct {
	// Name is the rules file; "-" is Stdin.
	Name string

	// ReadFile reads the rules file and what it names, by the names as they
	// are written, those in the file being relative to it; nil is os.ReadFile.
	ReadFile func(name string) ([]byte, error)

	// Stdin is what "-" reads.
	Stdin []byte

	// Environ is the environment as os.Environ gives it: WEIR_… variables
	// override single fields (WEIR_ENFORCE, WEIR_MEMORY_MAX_KEYS, …).
	Environ []string
}

// Load reads a rules file, the environment and the files that it names, and
// compiles them. The diagnostics are all there are, warnings included; the
// Policy is nil if there is an Error among them.
func Load(s Source) (*Policy, Diagnostics) { return nil, nil }
