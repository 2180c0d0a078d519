package token

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
)

const (
	// mostKeyBytes is some hundred times a large provider's set.
	mostKeyBytes = 1 << 20

	pemBegin = "-----BEGIN "

	privateKey     = "is a private key"
	giveThePublic  = "give the public key"
	giveTheWhole   = "give the JWK as its maker wrote it"
	writeLikeThese = "give a JWKS, public keys or certificates in PEM, or a secret for HS"
)

// readKeys reads Config.Keys. What is wanted tells which keys are of use, and
// whether text that is neither JSON nor PEM can be a secret.
func readKeys(content []byte, wanted []algorithm) ([]key, []error) {
	r := &reading{wanted: wanted}
	text := bytes.TrimSpace(content)
	switch {
	case len(content) > mostKeyBytes:
		r.wrong(-1, fmt.Sprintf("has more than %d bytes", mostKeyBytes), writeLikeThese)
	case len(text) == 0:
		r.wrong(-1, "is empty", writeLikeThese)
	case text[0] == '{':
		r.readSet(text)
	case bytes.Contains(text, []byte(pemBegin)):
		r.readPEM(text)
	default:
		r.readSecret(text)
	}
	if len(r.keys) == 0 && len(r.errs) == 0 {
		r.wrong(-1, "holds no key for "+names(wanted), "give the key that verifies these, or list the algorithm that the signer uses")
	}
	return r.keys, r.errs
}

// readSet reads a JWK Set or a single JWK (RFC 7517).
func (r *reading) readSet(text []byte) {
	set, ok := object(text)
	if !ok {
		r.wrong(-1, "begins like JSON but is none, or names a member twice", writeLikeThese)
		return
	}
	list, isSet := set["keys"]
	if !isSet {
		r.readJWK(-1, set)
		return
	}
	var keys []json.RawMessage
	if list[0] != '[' || json.Unmarshal(list, &keys) != nil {
		r.wrong(-1, "has a member keys that is no list", writeLikeThese)
		return
	}
	for i, raw := range keys {
		jwk, ok := object(raw)
		if !ok {
			r.wrong(i, "is no JWK, or names a member twice", "give each key as a JSON object")
			continue
		}
		r.readJWK(i, jwk)
	}
}

// readPEM reads public keys and certificates. Each certificate's key is
// trusted, and neither its dates nor its issuer are looked at.
func (r *reading) readPEM(text []byte) {
	for _, a := range r.wanted {
		if a.family == secretFamily {
			// Whoever knows the public key could sign with it as a secret.
			r.wrong(-1, "is PEM, and Algorithms lists "+a.name, "leave out the HS algorithms, or give a secret")
			return
		}
	}
	begun := bytes.Count(text, []byte(pemBegin))
	read := 0
	for ; ; read++ {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		r.readBlock(read, block)
	}
	if read != begun {
		r.wrong(-1, fmt.Sprintf("begins %d PEM blocks, of which %d can be read", begun, read), "copy the blocks whole")
	}
}

func (r *reading) readBlock(index int, block *pem.Block) {
	if strings.HasSuffix(block.Type, "PRIVATE KEY") {
		r.wrong(index, privateKey, giveThePublic)
		return
	}
	material, ok := publicKey(block)
	if !ok {
		r.wrong(index, "is a PEM block that holds no public key or certificate", giveThePublic)
		return
	}
	if k, ok := keyOf(material); ok {
		r.add(index, k)
	}
}

// publicKey returns the key in a block of PEM.
func publicKey(block *pem.Block) (material any, ok bool) {
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		material, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		material, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(block.Bytes); err == nil {
			material = c.PublicKey
		}
	default:
		return nil, false
	}
	return material, err == nil && material != nil
}

// readSecret takes text itself for the secret.
func (r *reading) readSecret(text []byte) {
	for _, a := range r.wanted {
		if a.family != secretFamily {
			r.wrong(-1, "is neither JSON nor PEM, so that it would be a secret, and Algorithms lists "+a.name,
				"give public keys as a JWKS or in PEM, or list HS algorithms alone")
			return
		}
	}
	if _, err := x509.ParsePKIXPublicKey(text); err == nil {
		r.wrong(-1, "is a public key, and Algorithms lists HS alone", "list the algorithm that the signer uses, and give the key in PEM")
		return
	}
	k, _ := keyOf(bytes.Clone(text))
	r.add(-1, k)
}
