package daemon_test

import (
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/policy"
)

// TestAllOrNothing has one address that is taken: nothing is served, and what was
// bound before is free again.
func TestAllOrNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	r := newRig(t, "version: 1\nupstream: demo\nlisten: {proxy: '"+address+"', ops: '"+taken.Addr().String()+"'}\n")
	err = daemon.Run(t.Context(), r.config())
	want := regexp.MustCompile(`^listen\.ops: cannot listen on 127\.0\.0\.1:\d+: .*; end what listens there already, or write another address$`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("%v", err)
	}
	if strings.Contains(r.log.String(), "listening") || r.welcome.String() != "" {
		t.Errorf("said to listen:\n%s%s", &r.log, &r.welcome)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestBadRules(t *testing.T) {
	r := newRig(t, "version: 1\nruels: []\nupstream: nowhere\n")
	var found policy.Diagnostics
	if err := daemon.Run(t.Context(), r.config()); !errors.As(err, &found) || len(found) < 2 {
		t.Errorf("%v", err)
	}
}

func TestBadConfig(t *testing.T) {
	err := daemon.Run(t.Context(), daemon.Config{DrainDelay: -1})
	for _, field := range []string{"Source.Name", "Log", "Now", "Every", "DrainDelay", "DrainTimeout"} {
		if !errors.Is(err, weir.ErrInvalid) || !strings.Contains(err.Error(), "daemon "+field) {
			t.Errorf("nothing said of %s: %v", field, err)
		}
	}
}

func TestWarningsAreTold(t *testing.T) {
	r := newRig(t, "version: 1\nlisten: {ops: '127.0.0.1:0'}\nrules: [{name: all, limit: 100/week fixed-window}]\n")
	r.begin(r.config())
	if log := r.log.String(); !strings.Contains(log, `"level":"WARN"`) || !strings.Contains(log, `"code":"long-period"`) {
		t.Errorf("not told of a warning:\n%s", log)
	}
}

func TestNoRules(t *testing.T) {
	r := newRig(t, "version: 1\nlisten: {ops: '127.0.0.1:0'}\n")
	r.begin(r.config())
	r.want(200, "", r.log.url("ops")+"/readyz")
	if !strings.Contains(r.log.String(), "there are no rules: everything passes") {
		t.Errorf("not told of it:\n%s", &r.log)
	}
}

// TestWelcome checks what somebody who has started it for the first time is asked
// to try.
func TestWelcome(t *testing.T) {
	port := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	f := func(rules, want string) {
		t.Helper()
		r := newRig(t, open+"demo\nrules:\n  - {name: first, "+rules+"}\n")
		r.begin(r.config())
		got, _, _ := strings.Cut(port.ReplaceAllString(r.welcome.String(), "HOST"), "\n")
		if got != "proxy  try: curl "+want {
			t.Errorf("for %s: %q, want %q", rules, got, want)
		}
	}
	f("match: POST /api/v1/jobs, limit: 5/s burst 5", `-i -X POST 'http://HOST/api/v1/jobs?n=[1-6]'`)
	f("limit: 5/s", `-i 'http://HOST/?n=[1-6]'`)
	f("match: GET /search, limit: 1000/s", `-i 'http://HOST/search'`)
	f("match: '/a/{id}/{rest...}', limit: deny", `-i 'http://HOST/a/1/1'`)
	f("match: 'DELETE /a/{$}', limit: 1/s", `-i -X DELETE 'http://HOST/a/?n=[1-2]'`)
	f("match: ['PUT /b', 'GET /c'], limit: 1/s", `-i -X PUT 'http://HOST/b?n=[1-2]'`)
}

// TestWelcomeToATokensListener says how the token is sent, and not which it is.
func TestWelcomeToATokensListener(t *testing.T) {
	f := func(token, sends string) {
		t.Helper()
		r := newRig(t, "version: 1\nlisten: {http: {address: '127.0.0.1:0'"+token+"}}\n")
		r.write("token", secret)
		c := r.config()
		c.Source.Environ = []string{"WEIRD=" + secret, "odd-name=" + secret}
		r.begin(c)
		want := "/v1/take" + sends + " -H 'Content-Type: application/json' -d "
		if got := r.welcome.String(); !strings.Contains(got, want) || strings.Contains(got+r.log.String(), secret) {
			t.Errorf("for %q: %s, want %q", token, got, want)
		}
	}
	f("", "")
	f(", token: env:WEIRD", ` -H "Authorization: Bearer $WEIRD"`)
	f(", token: env:odd-name", ` -H "Authorization: Bearer $TOKEN"`)
	f(", token: file:token", ` -H "Authorization: Bearer $TOKEN"`)
	f(", token: "+secret, ` -H "Authorization: Bearer $TOKEN"`)
}

// TestTheLogStartsWithWhatThereIs leaves out what there is not.
func TestTheLogStartsWithWhatThereIs(t *testing.T) {
	for file, want := range map[string]bool{"": false, "switch": true} {
		r := newRig(t, "version: 1\nlisten: {ops: '127.0.0.1:0'}\n")
		c := r.config()
		c.SwitchFile, c.Version = file, "v1"
		r.begin(c)
		if got := r.log.String(); strings.Contains(got, `"switch":`) != want || strings.Contains(got, `""`) {
			t.Errorf("with %q:\n%s", file, got)
		}
	}
}
