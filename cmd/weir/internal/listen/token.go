package listen

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

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
		w.Header().Set("WWW-Authenticate", "Bearer")
		leaveBody(w, r)
		problem.Write(w, r, problem.Problem{
			Status: http.StatusUnauthorized,
			Detail: "this listener wants its token, as Authorization: Bearer", // the same of a wrong token as of none
		})
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
