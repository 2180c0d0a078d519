package ops

import (
	"sync"
)

// longestError is how much of an error /readyz shows: a file with a hundred
// mistakes is for `weir check` to explain.
const longestError = 4096

// Readiness says whether the daemon is ready for traffic: its rules are loaded,
// it listens, and it is not on its way out. The zero Readiness is not ready. It is
// safe for concurrent use.
type Readiness struct {
	mu                          sync.Mutex
	loaded, listening, draining bool
	reloadError                 string
}

// State is what a Readiness says at one moment. Its JSON form is the answer of
// /readyz.
type State struct {
	Ready   bool     `json:"ready"`             // there are no Reasons against it
	Reasons []string `json:"reasons,omitempty"` // what it waits for

	// ReloadError says why the rules were not loaded when that was tried last.
	// The daemon is ready all the same, with the rules from before.
	ReloadError string `json:"last_reload_error,omitempty"`
}

// Loaded tells that rules are in force, at first or anew.
func (r *Readiness) Loaded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded, r.reloadError = true, ""
}

// LoadFailed tells why rules were not loaded. Those from before stay in force. The
// text of err is shown to whoever asks.
func (r *Readiness) LoadFailed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reloadError = err.Error()
	if len(r.reloadError) > longestError {
		r.reloadError = r.reloadError[:longestError] + "…"
	}
}

// Listening tells that every listener is open.
func (r *Readiness) Listening() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listening = true
}

// Draining tells that the daemon ends what it has begun, and wants nothing more.
// It does not come back from that.
func (r *Readiness) Draining() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// State is what holds now.
func (r *Readiness) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := State{ReloadError: r.reloadError}
	if !r.loaded {
		s.Reasons = append(s.Reasons, "no rules are loaded")
	}
	if !r.listening {
		s.Reasons = append(s.Reasons, "not listening yet")
	}
	if r.draining {
		s.Reasons = append(s.Reasons, "draining")
	}
	s.Ready = len(s.Reasons) == 0
	return s
}
