package daemon

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/weirhq/weir/policy"
)

// welcome tells somebody who has just started the daemon what to try.
func (c *Config) welcome(p *policy.Policy, endpoints []*endpoint) {
	if c.Welcome == nil {
		return
	}
	for _, e := range endpoints {
		try := ""
		switch e.name {
		case proxyName:
			try = tryProxy(p, e.url())
		case httpName:
			try = fmt.Sprintf(`curl %s/v1/take%s -H 'Content-Type: application/json' -d '{"key":"me","limit":"5/s"}'`, e.url(), bearer(e.config.Token))
		case opsName:
			try = fmt.Sprintf("curl %s/readyz", e.url())
		}
		if path, ok := strings.CutPrefix(e.config.Address, "unix:"); ok {
			try = strings.Replace(try, "curl unix:"+path, "curl --unix-socket "+path+" http://weir", 1)
		}
		fmt.Fprintf(c.Welcome, "%-5s  try: %s\n", e.name, try)
	}
}

// variable matches what a shell takes for the name of one.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// bearer is the option by which curl sends a listener's token, "" where there is
// none: by the variable that the file takes it from, or another. It is not printed.
func bearer(token string) string {
	if token == "" {
		return ""
	}
	name, ok := strings.CutPrefix(token, "env:")
	if !ok || !variable.MatchString(name) {
		name = "TOKEN"
	}
	return ` -H "Authorization: Bearer $` + name + `"`
}

// most is the largest burst that somebody is asked to try out by hand.
const most = 50

// tryProxy asks for the first rule's first route, once more than its limit lets
// through at once.
func tryProxy(p *policy.Policy, url string) string {
	method, path, times := "GET", "/", ""
	if rules := p.Config().Rules; len(rules) > 0 && len(rules[0].Match) > 0 {
		method, path = route(rules[0].Match[0])
	}
	if rules := p.Rules(); len(rules) > 0 && len(rules[0].Limits) > 0 {
		if n := rules[0].Limits[0].Capacity(); n > 0 && n < most {
			times = fmt.Sprintf("?n=[1-%d]", n+1)
		}
	}
	option := "-i"
	if method != "GET" {
		option += " -X " + method
	}
	return fmt.Sprintf("curl %s '%s%s%s'", option, url, path, times)
}

// route makes a request of a pattern: `POST /users/{id}` becomes POST /users/1.
func route(pattern string) (method, path string) {
	method, path = "GET", pattern
	if before, after, ok := strings.Cut(pattern, " "); ok {
		method, path = before, strings.TrimSpace(after)
	}
	if i := strings.Index(path, "/"); i >= 0 {
		path = path[i:] // behind the host
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch {
		case s == "{$}":
			segments[i] = ""
		case strings.HasPrefix(s, "{"):
			segments[i] = "1"
		}
	}
	return method, strings.Join(segments, "/")
}
