package ops

import (
	"net/http"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

// Handler answers the paths of this package. Metrics may be nil, and then has no
// path.
func Handler(r *Readiness, metrics http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		serve := find(req.URL.Path, r, metrics)
		switch {
		case serve == nil:
			problem.NotFound(w, req)
		case req.Method != http.MethodGet && req.Method != http.MethodHead:
			problem.NotAllowed(w, req, "GET, HEAD")
		default:
			problem.Secure(w.Header())
			serve.ServeHTTP(w, req)
		}
	})
}

// find gives what answers a path, nil for none.
func find(path string, r *Readiness, metrics http.Handler) http.Handler {
	switch path {
	case "/healthz":
		return http.HandlerFunc(health)
	case "/readyz":
		return http.HandlerFunc(r.ready)
	case "/metrics":
		return metrics
	}
	return nil
}

// Probes answers /healthz and /readyz to those who bring no credentials, with
// no more than whether: a probe has no token. Everything else goes to guarded,
// which may demand one.
func Probes(r *Readiness, guarded http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		probe := req.URL.Path == "/healthz" || req.URL.Path == "/readyz"
		reads := req.Method == http.MethodGet || req.Method == http.MethodHead
		switch {
		case !probe || !reads || len(req.Header["Authorization"]) > 0:
			guarded.ServeHTTP(w, req)
		case req.URL.Path == "/healthz":
			problem.Secure(w.Header())
			health(w, req)
		default:
			problem.Secure(w.Header())
			r.answer(w, req, State{Ready: r.State().Ready})
		}
	})
}

func health(w http.ResponseWriter, r *http.Request) {
	problem.JSON(w, r, http.StatusOK, "application/json", struct {
		Status string `json:"status"`
	}{"ok"})
}

func (r *Readiness) ready(w http.ResponseWriter, req *http.Request) {
	r.answer(w, req, r.State())
}

func (r *Readiness) answer(w http.ResponseWriter, req *http.Request, s State) {
	status := http.StatusOK
	if !s.Ready {
		status = http.StatusServiceUnavailable
	}
	problem.JSON(w, req, status, "application/json", s)
}
