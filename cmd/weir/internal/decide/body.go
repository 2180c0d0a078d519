package decide

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

// maxBody is more than a request's header may hold at a proxy.
const maxBody = 64 << 10

// read gives the body of a request, if it may be JSON and is not too long.
func read(w http.ResponseWriter, r *http.Request) ([]byte, *problem.Problem) {
	if detail := checkType(r.Header); detail != "" {
		return nil, &problem.Problem{Status: http.StatusUnsupportedMediaType, Detail: detail}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the body is longer than 64 KiB"}
	case err != nil:
		return nil, &problem.Problem{Status: http.StatusBadRequest, Detail: "the body ended before it was complete"}
	}
	return body, nil
}

// checkType says why a body cannot be the JSON that is read here, "" if it can.
// Without a type it is taken for JSON.
func checkType(h http.Header) string {
	const remedy = "send application/json"
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "Content-Encoding: bodies are read as they are; leave it out"
	}
	lines := h["Content-Type"]
	if len(lines) == 0 {
		return ""
	}
	kind, parameters, err := mime.ParseMediaType(lines[0])
	switch {
	case err != nil || len(lines) > 1:
		return "Content-Type: it names no type; " + remedy
	case kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")):
		return "Content-Type: only JSON is read here; " + remedy
	case parameters["charset"] != "" && !strings.EqualFold(parameters["charset"], "utf-8"):
		return "Content-Type: JSON is UTF-8; " + remedy
	}
	return ""
}
