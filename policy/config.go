package policy

import (
	"net/netip"
	"time"
)

// This file is the rules file as Go has it. What the fields mean to whoever writes
// a file stands in docs/rules.md, from which the schema takes it. Their names in
// YAML, and what the decoder and the schema know of them, stand in the tags:
//
//	yaml:"name"   the field's name in a rules file
//	min, max      the range of a number that is written; 0 in Go is the default
//	forms         short: its value may stand for the whole mapping
//	              one: an element may stand for the list
//	              secret: its value is shown to nobody

// Config is a rules file: which requests are limited, by whom they are counted,
// how much may pass, and where the daemon listens. The zero value of each field
// is its default. A Config is read by [Compile] and not kept.
type Config struct {
	// Version is the version of the file's language: 1.
	Version int `yaml:"version" min:"1" max:"1"`

	// Listen names the addresses of the daemon. What is absent is off; without
	// any, the proxy listens on :8000 if there is an Upstream, and ops on
	// 127.0.0.1:9090.
	Listen Listen `yaml:"listen"`

	// Upstream is the URL of what the reverse proxy stands in front of, such as
	// http://127.0.0.1:3000, or `demo`, which answers by itself.
	Upstream string `yaml:"upstream"`

	// Enforce is the switch: on, shadow (all is decided and counted, nothing
	// refused) or off (nothing is decided).
	Enforce Enforce `yaml:"enforce"`

	// Memory sizes the table of callers.
	Memory Memory `yaml:"memory"`

	// ClientIP says whom to believe about a caller's address.
	ClientIP ClientIP `yaml:"client_ip"`

	// JWT says how bearer tokens are verified, for keys and plans by claim.
	JWT *JWT `yaml:"jwt"`

	// Path says how paths are read before they are matched.
	Path Path `yaml:"path"`

	// Headers says which fields answers carry.
	Headers Headers `yaml:"headers"`

	// Plans are limits by the name of a plan, for rules that have a Plan.
	Plans map[string]Limits `yaml:"plans"`

	// Exempt lists requests that no rule applies to. Entries are alternatives;
	// the fields within one must all hold. Requests of a caller whose address
	// is not sure are never exempt.
	Exempt []Exempt `yaml:"exempt"`

	// Routes lists the routes of the API as patterns, so that `check` can say
	// which of them no rule applies to, and which rule applies to none.
	Routes []string `yaml:"routes"`

	// Rules are what requests must pass: all that match, together.
	Rules []Rule `yaml:"rules"`
}

// Enforce is a position of the switch. The weakest of file, environment and
// switch file wins.
type Enforce string

// The positions of the switch, strongest first. The empty Enforce is On.
const (
	On     Enforce = "on"     // limits are enforced
	Shadow Enforce = "shadow" // all is decided, charged and counted; nothing is refused
	Off    Enforce = "off"    // requests pass as if there were no rules
)

// Listen names the addresses of the daemon.
type Listen struct {
	// Proxy is the reverse proxy in front of the upstream.
	Proxy *Listener `yaml:"proxy"`

	// HTTP serves decisions: /v1/take, /v1/check, /v1/explain. Whoever may call
	// it is believed in what it says of the caller.
	HTTP *Listener `yaml:"http"`

	// Ops serves health, readiness and metrics.
	Ops *Listener `yaml:"ops"`
}

// Listener is one address to listen on. In a rules file it is written as its
// address alone, or with these fields.
type Listener struct {
	// Address is host:port, :port for every interface, or unix:PATH.
	Address string `yaml:"address" forms:"short"`

	// TLS makes it a listener for HTTPS, with HTTP/2.
	TLS *TLS `yaml:"tls"`

	// Token is demanded as `Authorization: Bearer`: env:NAME, file:PATH or the
	// token itself, of at least 16 characters. It is for http and ops.
	Token string `yaml:"token" forms:"secret"`

	// Open lets http listen beyond loopback without token and client CA:
	// whoever reaches it may spend anybody's quota.
	Open bool `yaml:"open"`

	// MaxConns bounds the connections that are open at once: 10,000 by default.
	MaxConns int `yaml:"max_conns" min:"1" max:"1000000"`

	// MaxConnsPerIP bounds those of one IPv4 address or IPv6 /64: 1,000 by
	// default. Trusted proxies are not counted.
	MaxConnsPerIP int `yaml:"max_conns_per_ip" min:"1" max:"1000000"`
}

// TLS names the files of a listener's certificate.
type TLS struct {
	Cert     string `yaml:"cert"`      // PEM file of the certificate chain
	Key      string `yaml:"key"`       // PEM file of its private key
	ClientCA string `yaml:"client_ca"` // PEM file of the CAs that clients must have a certificate of; empty demands none
}

// Memory sizes the table that callers' states are kept in.
type Memory struct {
	// MaxKeys is the most callers, summed over all limits, that are kept at
	// once: 1,000,000 by default.
	MaxKeys int `yaml:"max_keys" min:"64" max:"100000000"`

	// OnFull says what happens to a key for which there is no room.
	OnFull OnFull `yaml:"on_full"`
}

// OnFull says what happens to a key for which there is no room.
type OnFull string

// The choices for a full table. The empty OnFull is OnFullOverflow.
const (
	OnFullOverflow OnFull = "overflow" // it shares a cell of its limit with other such keys: limited more, never less
	OnFullRefuse   OnFull = "refuse"   // it is refused
	OnFullAdmit    OnFull = "admit"    // it passes uncounted
)

// ClientIP says whom to believe about a caller's address: see package clientip.
type ClientIP struct {
	// TrustedProxies are the networks of the proxies whose Header is believed.
	// Nothing is trusted by default.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`

	// TrustedHeaders are the headers that trusted proxies may send and nobody
	// else: only they name a plan. From other peers they are dropped.
	TrustedHeaders []string `yaml:"trusted_headers"`

	// Header is the one header that names the caller, such as X-Forwarded-For.
	Header string `yaml:"header"`

	// Hops takes the element of a list header at this place from the right, 1
	// being the last, instead of walking past trusted addresses.
	Hops int `yaml:"hops" min:"1" max:"256"`

	// IPv4Prefix is how many bits of an IPv4 address count: 32 by default.
	IPv4Prefix int `yaml:"ipv4_prefix" min:"1" max:"32"`

	// IPv6Prefix is how many bits of an IPv6 address count: 64 by default.
	IPv6Prefix int `yaml:"ipv6_prefix" min:"1" max:"128"`

	// NAT64 lists the /96 prefixes of the operator's own translators.
	NAT64 []netip.Prefix `yaml:"nat64"`

	// Unix says what a peer without an address gets.
	Unix Unix `yaml:"unix"`
}

// Unix says what a peer without an address, behind a Unix socket, gets.
type Unix string

// The choices for peers without an address. The empty Unix is UnixRefuse.
const (
	UnixRefuse Unix = "refuse" // 400
	UnixTrust  Unix = "trust"  // its header is believed
)

// JWT says how JSON Web Tokens are verified. A token that does not verify is as
// none at all.
type JWT struct {
	// From is where the token is: `header Authorization` (the default; with
	// the scheme Bearer), `header NAME` or `cookie NAME`.
	From string `yaml:"from"`

	// Keys is where the keys are: file:PATH or env:NAME, of a JWKS, public
	// keys or certificates in PEM, or a secret for HS algorithms.
	Keys string `yaml:"keys" forms:"secret"`

	// Algorithms lists what is accepted: HS256 … HS512, RS256 …, PS256 …,
	// ES256 …, EdDSA. It is required.
	Algorithms []string `yaml:"algorithms"`

	// Issuer must be the claim iss, where it is set.
	Issuer string `yaml:"issuer"`

	// Audience lists what the claim aud may be, where it is set; one must fit.
	Audience []string `yaml:"audience" forms:"one"`

	// Leeway is added to both ends of a token's life: 30s by default.
	Leeway time.Duration `yaml:"leeway" min:"1000" max:"600000000000"`

	// MaxBytes is the longest token that is looked at: 8192 by default.
	MaxBytes int `yaml:"max_bytes" min:"64" max:"65536"`
}

// Path says how paths are read before they are matched.
type Path struct {
	// Ambiguous says what becomes of a path that two readers could take apart
	// differently (an encoded slash, a backslash, NUL, a dot segment).
	Ambiguous Ambiguous `yaml:"ambiguous"`

	// Fold ignores the case of letters, for upstreams that do.
	Fold bool `yaml:"fold"`

	// Slash says whether a trailing slash counts.
	Slash Slash `yaml:"slash"`
}

// Ambiguous says what becomes of an ambiguous path.
type Ambiguous string

// The choices for ambiguous paths. The empty Ambiguous is AmbiguousReject.
const (
	AmbiguousReject Ambiguous = "reject" // 400
	AmbiguousPass   Ambiguous = "pass"   // read with each segment decoded once
)

// Slash says whether a trailing slash counts.
type Slash string

// The choices for trailing slashes. The empty Slash is SlashIgnore.
const (
	SlashIgnore Slash = "ignore" // /login/ fits /login, and /api fits /api/
	SlashKeep   Slash = "keep"   // they differ
)

// Headers says which fields answers carry: see package header.
type Headers struct {
	RateLimit RateLimit     `yaml:"ratelimit"`                             // RateLimit and RateLimit-Policy: draft-11 (the default) or off
	Legacy    Legacy        `yaml:"legacy"`                                // X-RateLimit-Limit, -Remaining and -Reset: on (the default) or off
	Reset     Reset         `yaml:"reset"`                                 // X-RateLimit-Reset as seconds from now (delta, the default) or since 1970 (epoch)
	Jitter    time.Duration `yaml:"jitter" min:"1000" max:"3600000000000"` // the most that is added to Retry-After at random; none by default
	Debug     bool          `yaml:"debug"`                                 // X-Weir-Decided, the microseconds of the decision
}

// RateLimit says whether the draft's fields are written.
type RateLimit string

// The choices for RateLimit and RateLimit-Policy. The empty RateLimit is Draft11.
const (
	Draft11      RateLimit = "draft-11" // as draft-ietf-httpapi-ratelimit-headers-11 has them
	RateLimitOff RateLimit = "off"      // they are not written
)

// Legacy says whether X-RateLimit fields are written.
type Legacy string

// The choices for X-RateLimit. The empty Legacy is LegacyOn.
const (
	LegacyOn  Legacy = "on"  // they are written
	LegacyOff Legacy = "off" // they are not
)

// Reset says what X-RateLimit-Reset counts.
type Reset string

// The choices for X-RateLimit-Reset. The empty Reset is ResetDelta.
const (
	ResetDelta Reset = "delta" // seconds from now
	ResetEpoch Reset = "epoch" // seconds since 1970
)
