// Package token verifies JSON Web Tokens and remembers those it has verified.
package token
