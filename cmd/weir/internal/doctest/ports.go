package doctest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"regexp"
	"strconv"
)

// named are the ports that pages may use: proxy, decisions, operators, and
// the application behind the proxy.
var named = regexp.MustCompile(`(:|\bport )(8000|8080|9090|3000)\b`)

// Ports maps the ports of pages to free ones.
type Ports map[string]string

// As long as the ports of pages, so that lengths and the places of carets stay
// true; and below those that systems give to outgoing connections, one of which
// might else take a port between its choice and its use.
const (
	lowest  = 4000
	highest = 8000
)

// Free chooses ports that nothing listens on.
func Free(ctx context.Context) (Ports, error) {
	p := Ports{}
	for _, name := range []string{"8000", "8080", "9090", "3000"} {
		port, err := free(ctx, p)
		if err != nil {
			return nil, err
		}
		p[name] = port
	}
	return p, nil
}

// free chooses one more.
func free(ctx context.Context, taken Ports) (string, error) {
	const tries = 1000
	var listen net.ListenConfig
	for range tries {
		port := strconv.Itoa(lowest + rand.IntN(highest-lowest))
		l, err := listen.Listen(ctx, "tcp", ":"+port)
		if err != nil || taken.has(port) {
			continue
		}
		if err := l.Close(); err != nil {
			return "", err
		}
		return port, nil
	}
	return "", errors.New("doctest: there is no free port")
}

func (p Ports) has(port string) bool {
	for _, given := range p {
		if given == port {
			return true
		}
	}
	return false
}

// Rewrite puts the free ports in the place of those that a text names, as :8000
// or port 8000.
func (p Ports) Rewrite(text string) string {
	return named.ReplaceAllStringFunc(text, func(found string) string {
		cut := len(found) - 4
		return found[:cut] + p[found[cut:]]
	})
}

// open counts the ports on which something answers.
func (p Ports) open(ctx context.Context) int {
	var dialer net.Dialer
	n := 0
	for _, port := range p {
		c, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close() // nothing was said
			n++
		}
	}
	return n
}
