package token

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Config says which tokens are believed. Keys and Algorithms are required.
type Config struct {
	// Keys is the content of the key file or variable, up to 1 MiB: a JWK Set
	// or a JWK (RFC 7517), or public keys and certificates in PEM, or, if all
	// algorithms are HS, the secret itself, without the white space around it.
	// Every certificate's key is trusted, without regard to its dates: give
	// the signer's, and no chain. Keys of a set that are not for signatures,
	// or for none of the algorithms, are passed over; private keys are refused.
	Keys []byte

	// Algorithms lists those that are accepted: HS256, HS384, HS512, RS256,
	// RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA (which is
	// Ed25519). Each is accepted with keys of its kind alone, and at least one
	// of them must have a key.
	Algorithms []string

	// Issuer is what iss must be, exactly; "" does not check it.
	Issuer string

	// Audience lists whom tokens may be for: one of them must be in aud. None
	// does not check it, and a token for another service is believed too.
	Audience []string

	// Leeway is how far exp and nbf may be missed, for clocks that differ: 0,
	// the default, to 10 minutes. A token without exp is believed for ever.
	Leeway time.Duration

	// MaxBytes bounds a token: longer ones are not looked at. 1 to 65,536; 0
	// means 8,192, which servers commonly allow for a whole field line.
	MaxBytes int

	// Claims lists the claims that will be asked for. All others, but iss, are
	// forgotten.
	Claims []string

	// MaxTokens bounds how many verified tokens are remembered, each with the
	// listed claims: 2 to 10,000; 0 means 10,000.
	MaxTokens int
}

const (
	defaultMaxBytes = 8 << 10
	// mostMaxBytes bounds, with mostTokens, what remembered claims may occupy.
	mostMaxBytes = 64 << 10
	// mostTokens keeps what is remembered at some megabytes.
	mostTokens = 10_000
	// leastTokens gives each of two generations one.
	leastTokens = 2
	// mostLeeway is more than the "few minutes" of RFC 7519 section 4.1.4.
	mostLeeway = 10 * time.Minute
)

// New checks c and returns its Verifier, which keeps nothing of c's slices. The
// error joins one [*ConfigError] for each thing that is wrong. Keys are judged
// if at least one of the algorithms is known.
func New(c Config) (*Verifier, error) {
	wanted, errs := c.wanted()
	var keys []key
	if len(wanted) > 0 {
		var wrong []error
		keys, wrong = readKeys(c.Keys, wanted)
		errs = append(errs, wrong...)
	}
	errs = slices.Concat(errs, c.checkTexts(), c.checkNumbers())
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Verifier{
		ring:     newRing(keys, wanted),
		issuer:   c.Issuer,
		audience: slices.Clone(c.Audience),
		claims:   slices.Compact(slices.Sorted(slices.Values(c.Claims))),
		leeway:   c.Leeway,
		maxBytes: cmp.Or(c.MaxBytes, defaultMaxBytes),
		memory:   newMemory(cmp.Or(c.MaxTokens, mostTokens)),
	}, nil
}

// wanted returns the listed algorithms, but for those that are wrong.
func (c Config) wanted() (wanted []algorithm, errs []error) {
	if len(c.Algorithms) == 0 {
		return nil, []error{&ConfigError{"Algorithms", -1, "", "is empty", "list what the signer uses, such as RS256"}}
	}
	for i, name := range c.Algorithms {
		a, ok := algorithmNamed(name)
		if problem, remedy := wrongAlgorithm(name); !ok {
			errs = append(errs, &ConfigError{"Algorithms", i, strconv.Quote(name), problem, remedy})
			continue
		}
		if slices.Contains(c.Algorithms[:i], name) {
			errs = append(errs, &ConfigError{"Algorithms", i, name, "is listed twice", "list it once"})
			continue
		}
		wanted = append(wanted, a)
	}
	return wanted, errs
}

// wrongAlgorithm returns what is wrong with a name that is no algorithm's.
func wrongAlgorithm(name string) (problem, remedy string) {
	if strings.EqualFold(strings.TrimSpace(name), "none") {
		return "would believe tokens that nobody has signed", "list what the signer uses, such as RS256"
	}
	if meant := inOtherLetters(name); meant != "" {
		return "is no algorithm", "write " + meant
	}
	return "is no algorithm", "list some of " + names(algorithms[:])
}

func (c Config) checkTexts() (errs []error) {
	if !plain(c.Issuer) {
		errs = append(errs, &ConfigError{"Issuer", -1, strconv.Quote(c.Issuer), "is not valid UTF-8", "write what iss holds"})
	}
	check := func(field string, list []string) {
		for i, s := range list {
			if s == "" || !plain(s) {
				errs = append(errs, &ConfigError{field, i, strconv.Quote(s), "is empty or not valid UTF-8", "write a text, or leave it out"})
			}
		}
	}
	check("Audience", c.Audience)
	check("Claims", c.Claims)
	return errs
}

// plain reports whether a text in a token can be equal to s.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, utf8.RuneError) }

func (c Config) checkNumbers() (errs []error) {
	add := func(field, value, least, most string) {
		errs = append(errs, &ConfigError{
			field, -1, value,
			fmt.Sprintf("is outside %s to %s", least, most), "leave it at 0 for the default",
		})
	}
	if c.Leeway < 0 || c.Leeway > mostLeeway {
		add("Leeway", c.Leeway.String(), "0", "10m")
	}
	if c.MaxBytes < 0 || c.MaxBytes > mostMaxBytes {
		add("MaxBytes", strconv.Itoa(c.MaxBytes), "1", strconv.Itoa(mostMaxBytes))
	}
	if c.MaxTokens != 0 && (c.MaxTokens < leastTokens || c.MaxTokens > mostTokens) {
		add("MaxTokens", strconv.Itoa(c.MaxTokens), strconv.Itoa(leastTokens), strconv.Itoa(mostTokens))
	}
	return errs
}
