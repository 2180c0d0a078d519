package listen

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// unauthorized is the body of every refusal: it says the same of a wrong token
// as of none.
const unauthorized = `{"type":"about:blank","title":"Unauthorized","status":401,` +
	`"detail":"this listener wants its token, as Authorization: Bearer"}` + "\n"

// RequireToken lets only requests through that carry the token, in one
// Authorization field of the scheme Bearer; others are answered 401. How long
// the comparison takes tells nothing about the token. An empty token lets nobody
// through.
func RequireToken(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		carried := bearer(r)
		got := sha256.Sum256([]byte(carried))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && carried != "" {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("WWW-Authenticate", "Bearer")
		h.Set("Content-Type", "application/problem+json")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.ProtoMajor == 1 && r.ContentLength != 0 {
			h.Set("Connection", "close") // nobody reads a stranger's body
		}
		w.WriteHeader(http.StatusUnauthorized)
		if r.Method != http.MethodHead {
			_, _ = w.Write([]byte(unauthorized))
		}
	})
}

// bearer is the token that a request carries, "" for none.
func bearer(r *http.Request) string {
	lines := r.Header["Authorization"]
	if len(lines) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}
