package problem_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

func TestWrite(t *testing.T) {
	no := false
	w := httptest.NewRecorder()
	problem.Write(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody), problem.Problem{
		Status:    http.StatusServiceUnavailable,
		Detail:    `it said "no" & <left>`,
		Retryable: &no,
		Mistakes:  []problem.Mistake{{Field: "cost", Detail: "too much"}},
	})
	want := `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"it said \"no\" & <left>",` +
		`"retryable":false,"errors":[{"field":"cost","detail":"too much"}]}` + "\n"
	if got := w.Body.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want || w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d, %s: %q, want %q", w.Code, name, got, want)
		}
	}
}

func TestNoBodyForHead(t *testing.T) {
	w := httptest.NewRecorder()
	problem.NotFound(w, httptest.NewRequest(http.MethodHead, "/", http.NoBody))
	if w.Code != http.StatusNotFound || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("%d, %q, %v", w.Code, w.Body, w.Header())
	}
}

func TestWhatCannotBeEncodedIsOurFault(t *testing.T) {
	w := httptest.NewRecorder()
	problem.JSON(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody), http.StatusOK, "application/json", math.Inf(1))
	if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
}

func TestNotAllowed(t *testing.T) {
	w := httptest.NewRecorder()
	problem.NotAllowed(w, httptest.NewRequest(http.MethodPut, "/", http.NoBody), "GET, HEAD")
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
}
