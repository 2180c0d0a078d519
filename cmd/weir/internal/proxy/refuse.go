package proxy

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
)

// maxUnread is the longest body that a request which is answered here may leave
// on a connection that is used again.
const maxUnread = 64 << 10

// leaveBody gets ready for an answer before the body has been read. Over HTTP/1
// net/http then reads some of it: to use the connection again, or to be heard
// before it closes. HTTP/2 resets the stream.
func (c *call) leaveBody() {
	if c.in.ProtoMajor != 1 || c.in.ContentLength == 0 {
		return
	}
	if n := c.in.ContentLength; n < 0 || n > maxUnread {
		c.out.Header().Set("Connection", "close")
	}
	c.out.drainWithin(c.proxy.timeouts.Drain)
}

// refuse tells the caller why the request does not go on.
func (c *call) refuse() {
	c.leaveBody()
	if kind := grpcKind(c.in.Header); kind != "" {
		c.refuseGRPC(kind)
		return
	}
	c.settings.header.Refuse(&c.out, c.in, &c.outcome)
}

// grpcKind is the content type in which a gRPC client expects its answer, ""
// for other clients. It is never the client's own text.
func grpcKind(h http.Header) string {
	const grpc = "application/grpc"
	lines := h["Content-Type"]
	if len(lines) == 0 || len(lines[0]) < len(grpc) || !strings.EqualFold(lines[0][:len(grpc)], grpc) {
		return ""
	}
	rest := strings.ToLower(lines[0][len(grpc):])
	for _, kind := range [...]string{"-web-text", "-web"} {
		if strings.HasPrefix(rest, kind) {
			return grpc + kind
		}
	}
	if rest == "" || strings.IndexByte("+;- \t", rest[0]) >= 0 {
		return grpc
	}
	return ""
}

// The status codes of gRPC that refusals have.
const (
	grpcInvalidArgument   = 3
	grpcPermissionDenied  = 7
	grpcResourceExhausted = 8
	grpcUnavailable       = 14
	grpcUnauthenticated   = 16
)

// refuseGRPC answers Trailers-Only: a client of gRPC makes UNAVAILABLE of a
// bare 429, which most retry at once.
func (c *call) refuseGRPC(kind string) {
	h, o := c.out.Header(), &c.outcome
	c.settings.header.Write(h, o)
	c.settings.header.Expose(h, c.in)
	code, message := grpcStatus(o)
	h.Set("Content-Type", kind)
	h.Set("Grpc-Status", strconv.Itoa(code))
	h.Set("Grpc-Message", percent(message))
	if wait := pushback(o); wait != "" {
		h.Set("Grpc-Retry-Pushback-Ms", wait)
	}
	c.out.WriteHeader(http.StatusOK)
}

// grpcStatus is the code and the message of a refusal: by its cause, whatever
// status a rule has for HTTP, since clients try again by the code.
func grpcStatus(o *weir.Outcome) (code int, message string) {
	var challenger header.Challenger
	switch {
	case o.Cause == weir.ByLimits && o.Never:
		return grpcResourceExhausted, "the cost is above what can ever pass" + allowance(o)
	case o.Cause == weir.ByLimits && o.Decision().Blocked:
		return grpcResourceExhausted, "quota exceeded and blocked" + allowance(o)
	case o.Cause == weir.ByLimits:
		return grpcResourceExhausted, "quota exceeded" + allowance(o)
	case o.Cause == weir.ByFault:
		return grpcUnavailable, "it could not be decided whether the request may pass"
	case o.Cause == weir.ByMissing && errors.As(o.Err, &challenger):
		return grpcUnauthenticated, "the request lacks the credentials that it is counted by"
	case o.Cause == weir.ByMissing || o.Cause == weir.ByRequest:
		return grpcInvalidArgument, "the request cannot be judged as it stands"
	}
	return grpcPermissionDenied, "such requests are not let through"
}

// allowance names the limit that refused.
func allowance(o *weir.Outcome) string {
	l := o.Limit()
	if l == nil {
		return ""
	}
	return ": " + l.Name() + " allows " + l.String()
}

// pushback is the milliseconds after which to try again, rounded up; -1 tells a
// client not to; "" says nothing.
func pushback(o *weir.Outcome) string {
	const most = 1<<31 - 1 // what clients can read
	switch {
	case o.Cause != weir.ByLimits:
		return ""
	case o.Never:
		return "-1"
	}
	return strconv.FormatInt(min(o.RetryAfter.Ceil(time.Millisecond), most), 10)
}

// percent encodes a message as gRPC wants it: the visible characters of ASCII
// and spaces stand for themselves, but for the percent sign.
func percent(message string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(message) {
		c := message[i]
		if c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
