package policy

import (
	"os"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/policy/internal/match"
	"github.com/weirhq/weir/policy/internal/token"
)

// Policy is a compiled [Config]. It is immutable and safe for concurrent use.
type Policy struct {
	config   Config
	rules    []*rule
	set      *match.Set // which rules a request matches, by index
	exempt   []*exemption
	path     match.Options
	resolver *clientip.Resolver
	tokens   *token.Verifier // nil without jwt

	tokenFrom      part     // where the token is
	trustedHeaders []string // canonical; only trusted proxies may send them
	bearers        map[*Listener]bearer

	kept map[string]int // Fit.Shares of the store that was asked; nil without one

	enforce  Enforce
	warnings Diagnostics
	files    []string
	digest   string
}

// Compile checks c whole and makes a Policy of it. The error is [Diagnostics]
// with every mistake; what is only worth a warning is in [Policy.Warnings].
func Compile(c Config) (*Policy, error) {
	p, found := compile(c, inputs{readFile: os.ReadFile, getenv: os.Getenv})
	found = found.sorted(0)
	if p != nil {
		p.warnings = found
	}
	return p, found.Err()
}

// Config is what the policy was made of. It is shared: do not change it.
func (p *Policy) Config() *Config { return &p.config }

// withMaxKeys is the policy as if its file said n of memory.max_keys, or 0 for what a file
// has that says nothing: to try how large a table it needs. All else is shared with the
// policy, which stays as it is.
func (p *Policy) withMaxKeys(n int) *Policy {
	q := *p
	q.config.Memory.MaxKeys, q.kept = n, nil
	return &q
}

// Warnings are what is wrong with the policy without making it unusable.
func (p *Policy) Warnings() Diagnostics { return p.warnings }

// Files are the files that the policy was read from: the rules file, the keys
// for tokens. A change of one of them is a reason to load again.
func (p *Policy) Files() []string { return p.files }

// Digest names what the policy was read from: the first 12 hexadecimal digits of
// a SHA-256 over rules file, environment and key files. Policies with the same
// digest decide alike.
func (p *Policy) Digest() string { return p.digest }

// Resolver finds callers' addresses as the policy says.
func (p *Policy) Resolver() *clientip.Resolver { return p.resolver }

// Rules are the policy's rules, in the order of the file.
func (p *Policy) Rules() []*RuleInfo {
	list := make([]*RuleInfo, len(p.rules))
	for i, r := range p.rules {
		list[i] = &r.RuleInfo
	}
	return list
}

// Limits are all versions of all limits, with those of plans.
func (p *Policy) Limits() []*weir.Limit {
	var list []*weir.Limit
	for _, r := range p.rules {
		list = append(list, r.Limits...)
	}
	return list
}

// TrustedHeaders are the headers that trusted proxies may send and nobody else,
// in canonical form; a proxy drops them from other peers.
func (p *Policy) TrustedHeaders() []string { return p.trustedHeaders }

// reserved is how many keys are kept room for, by rule: what rules ask for, and
// for each guest as much as a rule has that asks for nothing.
func (p *Policy) reserved(guests []string) map[string]int {
	keys, rest, others := map[string]int{}, roomFor(p.config.Memory.Keys()), len(guests)
	for _, r := range p.rules {
		switch n := r.asks(); {
		case n > 0:
			keys[r.Name] = n
			rest -= n
		case len(r.Limits) > 0:
			others++
		}
	}
	for _, guest := range guests {
		if share := guestShare * (rest / others) / 100; share > 0 {
			keys[guest] = share
		}
	}
	return keys
}

// guestShare is what a guest has of an equal share, in hundredths: the store
// rounds what is reserved up, and keeps a part for overflow cells.
const guestShare = 75
