package policy

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVariablesOverride(t *testing.T) {
	const file = `
version: 1
upstream: demo
jwt: {keys: env:KEYS, algorithms: [HS256]}
rules:
  - {name: a, key: jwt:sub, limit: 1/s}
`
	p, found := loadText(file, "KEYS=0123456789abcdef0123456789abcdef",
		"WEIR_UPSTREAM=http://127.0.0.1:3000",
		"WEIR_LISTEN_PROXY=:8001",
		"WEIR_LISTEN_PROXY_MAX_CONNS=7",
		"WEIR_LISTEN_HTTP=127.0.0.1:8080",
		"WEIR_MEMORY_MAX_KEYS=5000",
		"WEIR_CLIENT_IP_HEADER=X-Forwarded-For",
		"WEIR_CLIENT_IP_TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.7",
		"WEIR_JWT_LEEWAY=1m",
		"WEIR_PATH_FOLD=true",
		"WEIR_HEADERS_RESET=epoch",
	)
	if p == nil || len(found) > 0 {
		t.Fatal(found)
	}
	c := p.Config()
	got := []any{
		c.Upstream, c.Listen.Proxy.Address, c.Listen.Proxy.MaxConns, c.Listen.HTTP.Address, c.Memory.MaxKeys,
		c.ClientIP.Header, c.ClientIP.TrustedProxies, c.JWT.Leeway, c.JWT.Keys, c.Path.Fold, c.Headers.Reset,
	}
	want := []any{
		"http://127.0.0.1:3000", ":8001", 7, "127.0.0.1:8080", 5000,
		"X-Forwarded-For",
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")},
		time.Minute, "env:KEYS", true, ResetEpoch,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The weakest of file and environment holds.
func TestVariableNeverStrengthens(t *testing.T) {
	for _, c := range []struct {
		file, variable string
		want           Enforce
	}{
		{"", "on", On},
		{"", "shadow", Shadow},
		{"", "off", Off},
		{"on", "on", On},
		{"on", "shadow", Shadow},
		{"on", "off", Off},
		{"shadow", "on", Shadow},
		{"shadow", "off", Off},
		{"off", "on", Off},
		{"off", "shadow", Off},
	} {
		file := "version: 1\n"
		if c.file != "" {
			file += "enforce: " + c.file + "\n"
		}
		p, found := loadText(file, "WEIR_ENFORCE="+c.variable)
		if p == nil || weakest(p.Config().Enforce, On) != c.want {
			t.Errorf("%+v: %v", c, found)
		}
	}
}

func TestStrangeVariables(t *testing.T) {
	for _, c := range []struct {
		variable string
		want     []string
	}{
		{"WEIR_CONFIG=/etc/weir.yaml", nil},
		{"WEIR_SWITCH_FILE=/run/weir", nil},
		{"WEIR_LONG=1", nil},
		{"WEIR_SERVICE_HOST=10.0.0.1", nil},
		{"WEIR_SERVICE_PORT=80", nil},
		{"WEIR_SERVICE_PORT_HTTP=80", nil},
		{"WEIR_PORT=tcp://10.0.0.1:80", nil},
		{"WEIR_PORT_80_TCP=tcp://10.0.0.1:80", nil},
		{"WEIR_PORT_80_TCP_ADDR=10.0.0.1", nil},
		{"WEIR_STORE_PORT_6379_TCP_PROTO=tcp", nil},
		{"WEIR_STORE_SERVICE_HOST=10.0.0.2", nil},
		{"WEIRD=1", nil},
		{"HOME=/nowhere", nil},
		{"WEIR_ENFORCED=on", []string{"unknown-variable"}},
		{"WEIR_RULES=[]", []string{"unknown-variable"}},
		{"WEIR_LISTEN_PROXY_ADDRESS=:80", []string{"unknown-variable"}},
		{"WEIR_STORE_TIMEOUT=20ms", []string{"not-in-this-version"}},
		{"WEIR_STORE=redis", []string{"not-in-this-version"}},
		{"WEIR_ENFORCE= ", []string{"empty-value"}},
		{"WEIR_ENFORCE=ON", []string{"unknown-word"}},
		{"WEIR_HEADERS_DEBUG=1", []string{"wrong-kind"}},
		{"WEIR_CLIENT_IP_NAT64=2001:db8::/96,", []string{"bad-network"}},
		{"WEIR_LISTEN_HTTP=:8080", []string{"open-listener"}},
	} {
		_, found := loadText("version: 1\n", c.variable)
		if !slices.Equal(codes(found), c.want) {
			t.Errorf("%s: found %v, want %v", c.variable, codes(found), c.want)
		}
		if len(found) > 0 && (found[0].File != "" || found[0].Path == "" || c.variable[:len(found[0].Path)] != found[0].Path) {
			t.Errorf("%s is not blamed: %s", c.variable, found[0].String())
		}
	}
}

// Every single field outside lists and tables has its variable.
func TestVariableNames(t *testing.T) {
	var names []string
	for _, v := range variables() {
		names = append(names, v.name)
	}
	for _, want := range []string{
		"WEIR_ENFORCE", "WEIR_UPSTREAM", "WEIR_LISTEN_PROXY", "WEIR_LISTEN_OPS_TOKEN", "WEIR_LISTEN_HTTP_TLS_CERT",
		"WEIR_MEMORY_ON_FULL", "WEIR_CLIENT_IP_IPV6_PREFIX", "WEIR_JWT_KEYS", "WEIR_JWT_ALGORITHMS", "WEIR_PATH_SLASH",
		"WEIR_HEADERS_JITTER", "WEIR_ROUTES",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s in %v", want, names)
		}
	}
	for _, n := range names {
		if injected.MatchString(n) {
			t.Errorf("%s looks like one that Kubernetes sets", n)
		}
	}
}

// A hint about what the environment says names the variable: whoever follows it in the file
// changes nothing.
func TestHintsNameTheVariable(t *testing.T) {
	for _, c := range []struct{ what, file, variable, want string }{
		{"a table that is too small", "rules: [{name: a, limit: 1/s, max_keys: 500}]", "WEIR_MEMORY_MAX_KEYS=1000", "set WEIR_MEMORY_MAX_KEYS to 3000 and the rule's max_keys to 1000"},
		{"and that the file has as well", "memory: {max_keys: 100000}\nrules: [{name: a, limit: 5/h}]", "WEIR_MEMORY_MAX_KEYS=1000", "set WEIR_MEMORY_MAX_KEYS to 30000"},
		{"a number that is none", "", "WEIR_MEMORY_MAX_KEYS=0", "unset it for its default"},
		{"a number with underscores", "", "WEIR_MEMORY_MAX_KEYS=1_000", "write 1000"},
		{"an upstream without a proxy", "listen: {ops: '127.0.0.1:0'}", "WEIR_UPSTREAM=demo", "add `proxy: :8000` to listen, or unset WEIR_UPSTREAM"},
		{"a file's own", "memory: {max_keys: 1000}\nrules: [{name: a, limit: 5/h}]", "WEIR_ENFORCE=on", "set memory.max_keys to 30000"},
	} {
		_, found := loadText("version: 1\n"+c.file+"\n", c.variable)
		if len(found) == 0 || found[0].Hint != c.want || strings.Contains(found[0].Message, "memory.max_keys") {
			t.Errorf("%s: %v", c.what, found)
		}
	}
}
