package problem

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is what an answer says of an error. Title and type follow from the
// status.
type Problem struct {
	Status    int       // of the answer, 400 to 599
	Detail    string    // about this one error, for people
	Retryable *bool     // whether the same may be sent again without being charged twice; nil where that is no question
	Mistakes  []Mistake // all that is wrong with what was sent
}

// Mistake is one thing that is wrong with what was sent.
type Mistake struct {
	Field  string `json:"field"`            // which, as in headers.X-Api-Key; body for all of it
	Detail string `json:"detail"`           // why it cannot be
	Remedy string `json:"remedy,omitempty"` // what to write instead
}

// String is one sentence.
func (m Mistake) String() string {
	text := m.Field + ": " + m.Detail
	if m.Remedy != "" {
		text += "; " + m.Remedy
	}
	return text
}

// Document is a problem as it is sent, its members as in Problem.
type Document struct {
	Type      string    `json:"type"`                // about:blank: the status says all there is to say
	Title     string    `json:"title"`               // what the status is called
	Status    int       `json:"status"`              // that of the answer
	Detail    string    `json:"detail,omitempty"`    // about this one error
	Retryable *bool     `json:"retryable,omitempty"` // whether the same may be sent again
	Errors    []Mistake `json:"errors,omitempty"`    // all that is wrong
}

// Write answers with p. It writes the whole answer but for fields that a status
// needs besides, such as Allow; those are set before.
func Write(w http.ResponseWriter, r *http.Request, p Problem) {
	JSON(w, r, p.Status, "application/problem+json", Document{
		Type:      "about:blank",
		Title:     http.StatusText(p.Status),
		Status:    p.Status,
		Detail:    p.Detail,
		Retryable: p.Retryable,
		Errors:    p.Mistakes,
	})
}

// JSON answers with v, which nothing may keep or guess the type of.
func JSON(w http.ResponseWriter, r *http.Request, status int, contentType string, v any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // a defect of ours: v is what we made
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		body.Reset()
		body.WriteString(`{"type":"about:blank","title":"Internal Server Error","status":500}` + "\n")
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	Secure(h)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes())
	}
}

// Secure sets the fields that every answer of these surfaces has.
func Secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// NotFound answers what has no such path.
func NotFound(w http.ResponseWriter, r *http.Request) {
	Write(w, r, Problem{Status: http.StatusNotFound, Detail: "there is nothing under this path"})
}

// NotAllowed answers what has the path but not the method. Allow is a list as
// the field has it.
func NotAllowed(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	Write(w, r, Problem{Status: http.StatusMethodNotAllowed, Detail: "this path answers " + allow + " alone"})
}
