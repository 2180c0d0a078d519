package decide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

// How much of an answer is read. An explanation has some hundreds of bytes for
// each rule of the file; everything else is small.
const (
	mostAnswer      = 64 << 10
	mostExplanation = 1 << 20
)

// Client asks a daemon for decisions. It waits as long as the context of a call
// lets it, follows no redirect, and reads no more of an answer than one can have.
// It is safe for concurrent use.
type Client struct {
	// URL is where the daemon listens for HTTP, such as http://127.0.0.1:8080;
	// the paths of the calls are added to it.
	URL string

	// Token is sent as `Authorization: Bearer`; "" sends none.
	Token string

	// HTTP is how requests are sent; nil is a client of its own. It is not
	// changed.
	HTTP *http.Client
}

// UnreachableError says that no answer came that could be understood: nobody
// listens, it took too long, or what answers is not weir, or could not decide.
type UnreachableError struct {
	Server string // host and port
	Status int    // of the answer; 0 where there was none
	Err    error  // what happened

	// Foreign says that something answers which is no http listener of a daemon:
	// its proxy, its operators' listener, or another program.
	Foreign bool
}

// Error names the server and what happened.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("weir: no decision from %s: %v", e.Server, e.Err)
}

// Unwrap gives what happened.
func (e *UnreachableError) Unwrap() error { return e.Err }

// RefusedError says that the daemon does not take what was asked: a field is
// wrong, or the token is.
type RefusedError struct {
	Status   int               // 400 to 499
	Detail   string            // the first mistake, for people
	Mistakes []problem.Mistake // all of them; may be empty
}

// Error gives every mistake, safe to print.
func (e *RefusedError) Error() string {
	if len(e.Mistakes) == 0 {
		return fmt.Sprintf("weir: the daemon answers %d: %s", e.Status, printable(e.Detail))
	}
	texts := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		texts[i] = "weir: " + printable(m.String())
	}
	return strings.Join(texts, "\n")
}

// Take takes units of a limit. The error is a [*weir.FieldError] for what cannot be
// sent (JSON would make another text of bytes that are no UTF-8), a [*RefusedError], an [*UnreachableError], or the context's when it was
// cancelled.
func (c *Client) Take(ctx context.Context, t TakeRequest) (*TakeAnswer, error) {
	if !utf8.ValidString(t.Key) { // one key would be made of two
		return nil, weir.Invalid("key", "", notUTF8, "encode it, in hex for example")
	}
	a := new(TakeAnswer)
	if err := c.ask(ctx, takePath, t, a, mostAnswer, "allowed", "limit", "mode"); err != nil {
		return nil, err
	}
	return a, nil
}

// Explain says how a request would be decided. Errors are those of Take; several
// fields that cannot be sent are joined.
func (c *Client) Explain(ctx context.Context, r CheckRequest) (*ExplainAnswer, error) {
	if err := r.sendable(); err != nil {
		return nil, err
	}
	a := new(ExplainAnswer)
	if err := c.ask(ctx, explainPath, r, a, mostExplanation, "method", "rules", "reason"); err != nil {
		return nil, err
	}
	return a, nil
}

// notUTF8 is what is wrong with a text that JSON cannot hold.
const notUTF8 = "it is not UTF-8"

// sendable refuses what would be explained as another request, perhaps of another
// caller. The error joins a [*weir.FieldError] for each field, in the order of
// their names; none shows a value.
func (r *CheckRequest) sendable() error {
	const escaped = "escape it, as in %FF"
	var errs []error
	need := func(text, field, remedy string) {
		if !utf8.ValidString(text) {
			errs = append(errs, weir.Invalid(field, "", notUTF8, remedy))
		}
	}
	need(r.Method, "method", "write it as on the wire, as in GET")
	need(r.Host, "host", "write it in ASCII, as in xn--bcher-kva.example")
	need(r.Path, "path", escaped)
	need(r.Query, "query", escaped)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		need(name, "headers", "no header has such a name")
		for _, v := range r.Headers[name] {
			need(v, "headers."+strings.ToValidUTF8(name, ""), "JSON holds no such bytes: explain by the rules file, without a daemon")
		}
	}
	return errors.Join(errs...)
}

// errForeign is of an answer that another program may have given: many answer
// whatever they are asked with 200 and an object.
var errForeign = errors.New("its answer is none of weir's")

// ask sends a question and reads the answer, which has at least the members that
// are named.
func (c *Client) ask(ctx context.Context, path string, question, answer any, most int64, members ...string) error {
	to, err := c.server()
	if err != nil {
		return err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, application/problem+json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	status, header, got, err := c.send(r, most)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &UnreachableError{Server: to.Host, Status: status, Err: err}
	case status != http.StatusOK:
		return told(to.Host, status, header, got)
	}
	if !has(got, members) || json.Unmarshal(got, answer) != nil {
		return &UnreachableError{Server: to.Host, Status: status, Err: errForeign, Foreign: true}
	}
	return nil
}

// has reports whether a text is an object in JSON with some members.
func has(text []byte, members []string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return false
	}
	for _, name := range members {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	return true
}

// server checks the URL. What it holds besides is not shown: it may be a password.
func (c *Client) server() (*url.URL, error) {
	const remedy = "write it as http://127.0.0.1:8080"
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, weir.Invalid("server", "", "it is no URL", remedy)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, weir.Invalid("server", u.Redacted(), "it is no URL of HTTP", remedy)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, weir.Invalid("server", u.Redacted(), "there is a query or a fragment", remedy)
	}
	return u, nil
}

// send sends a request and reads the answer, up to a number of bytes.
func (c *Client) send(r *http.Request, most int64) (int, http.Header, []byte, error) {
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which is named already
		}
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err == nil && int64(len(got)) > most {
		err = fmt.Errorf("its answer is longer than %d KiB", most>>10)
	}
	return res.StatusCode, res.Header, got, err
}

// told makes an error of an answer that is no decision. A daemon refuses what this
// client sends with few statuses, and says which field is wrong or which call
// failed: what answers otherwise is not its http listener.
func told(server string, status int, h http.Header, body []byte) error {
	var p problem.Document
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	ours := kind == "application/problem+json" && json.Unmarshal(body, &p) == nil
	refused := status == http.StatusBadRequest && (len(p.Errors) > 0 || weirs(&p, status)) || status == http.StatusUnauthorized || status == http.StatusRequestEntityTooLarge
	failed := status == http.StatusInternalServerError || status == http.StatusServiceUnavailable && p.Retryable != nil
	e := &UnreachableError{Server: server, Status: status, Err: fmt.Errorf("it answers %d", status), Foreign: true}
	switch {
	case ours && refused:
		return &RefusedError{Status: status, Detail: p.Detail, Mistakes: p.Errors}
	case ours:
		e.Err, e.Foreign = fmt.Errorf("it answers %d: %s", status, printable(p.Detail)), !failed
	case status >= 300 && status < 400:
		e.Err = fmt.Errorf("it answers %d, a redirect, which is not followed", status)
	}
	return e
}

// weirs reports whether a document is as weir writes those of a status.
func weirs(p *problem.Document, status int) bool {
	return p.Type == "about:blank" && p.Title == http.StatusText(status) && p.Status == status && p.Detail != ""
}

// printable takes from a text what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}
