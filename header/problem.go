package header

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/weirhq/weir"
)

// The problem types of the draft, and the one that says no more than the
// status.
const (
	typeQuota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeReduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	typeBlank   = "about:blank"
)

// Problem is what a refusal says of itself (RFC 9457, section 3.1). Empty
// members are filled in: Type about:blank, Title what the status is called.
type Problem struct {
	Type   string // a URI that names the kind of problem
	Title  string // the same for all problems of a Type
	Status int    // of the answer, 400 to 599; another value changes nothing
	Detail string // about this one refusal, for people
}

// problem is what the refusal says, after Config.Problem has seen it.
func (w *Writer) problem(r *http.Request, o *weir.Outcome, retry int64) Problem {
	status, cause := cmp.Or(Status(o), http.StatusForbidden), causeStatus(o)
	p := Problem{Type: typeBlank, Status: status, Detail: words(o, cause, retry)}
	switch cause {
	case http.StatusTooManyRequests:
		p.Type, p.Title = typeQuota, "Quota Exceeded"
	case http.StatusServiceUnavailable:
		p.Type, p.Title = typeReduced, "Temporary Reduced Capacity"
	}
	if w.config.Problem != nil {
		p = w.ask(r, o, p)
	}
	if p.Status < 400 || p.Status > 599 {
		p.Status = status
	}
	p.Type = cmp.Or(p.Type, typeBlank)
	p.Title = cmp.Or(p.Title, http.StatusText(p.Status), "Refused")
	return p
}

// ask hands Config.Problem a copy: only then does one live on the heap.
func (w *Writer) ask(r *http.Request, o *weir.Outcome, p Problem) Problem {
	w.config.Problem(r, o, &p)
	return p
}

// words are what the rule wants its callers told, or what happened.
func words(o *weir.Outcome, status int, retry int64) string {
	if o.Refusal != nil && o.Refusal.Detail != "" && !o.Allowed {
		return o.Refusal.Detail
	}
	return detail(o, status, retry)
}

// detail says in plain words what happened.
func detail(o *weir.Outcome, status int, retry int64) string {
	again := "; retry in " + strconv.FormatInt(retry, 10) + " s"
	l := o.Limit()
	switch status {
	case http.StatusTooManyRequests:
		if l == nil {
			return "too many requests" + again
		}
		if o.Decision().Blocked {
			return l.Name() + " allows " + l.String() + "; you went beyond that and are blocked" + again
		}
		return l.Name() + " allows " + l.String() + again
	case http.StatusUnprocessableEntity:
		if l == nil {
			return "the cost is above what can ever pass; waiting does not help"
		}
		return "the cost is above the most that " + l.Name() + " ever lets through, " +
			strconv.FormatInt(l.Capacity(), 10) + "; waiting does not help"
	case http.StatusServiceUnavailable:
		return "it could not be decided whether the request may pass" + again
	case http.StatusUnauthorized:
		return fault(o.Err, "the request lacks the credentials that it is counted by")
	case http.StatusBadRequest:
		if o.Cause == weir.ByMissing {
			return fault(o.Err, "the request lacks what it is counted by")
		}
		return fault(o.Err, "the request cannot be judged as it stands")
	}
	return "such requests are not let through"
}

// fault says what is wrong with a request's field, without its value; other
// errors are not for callers to read.
func fault(err error, otherwise string) string {
	var e *weir.FieldError
	if !errors.As(err, &e) {
		return otherwise
	}
	text := e.Field + ": " + e.Problem
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// body makes the body and gathers its Content-Type.
func (p *Problem) body(f *fields, r *http.Request, o *weir.Outcome, members []member) []byte {
	b := make([]byte, 0, textRoom)
	if takesJSON(r.Header["Accept"]) {
		f.set(keyType, "application/problem+json")
		return p.json(b, o, members)
	}
	f.set(keyType, "text/plain; charset=utf-8")
	return p.line(b)
}

func (p *Problem) json(b []byte, o *weir.Outcome, members []member) []byte {
	b = appendText(append(b, `{"type":`...), p.Type)
	b = appendText(append(b, `,"title":`...), p.Title)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(p.Status), 10)
	if p.Detail != "" {
		b = appendText(append(b, `,"detail":`...), p.Detail)
	}
	n := 0
	for _, m := range members {
		if o.Decisions[m.take].Allowed {
			continue
		}
		if n == 0 {
			b = append(b, `,"violated-policies":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendText(b, o.Takes[m.take].Limit.Name())
		n++
	}
	if n > 0 {
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}

// line is title and detail as one line of text.
func (p *Problem) line(b []byte) []byte {
	b = append(b, p.Title...)
	if p.Detail != "" {
		b = append(append(b, ": "...), p.Detail...)
	}
	for i, c := range b {
		if c < 0x20 || c == 0x7f {
			b[i] = ' '
		}
	}
	return append(b, '\n')
}

// appendText appends s as a JSON string (RFC 8259, section 7). Bytes that are
// no UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range s { // of a byte that is no UTF-8, range makes U+FFFD
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
