package policy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// However a file with secrets in it is broken, nothing that is said of it holds
// one.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "hunter2hunter2XX"
	for _, file := range []string{
		"listen: {http: {address: :99999, token: " + secret + "}}",
		"listen:\n  ops:\n    token: " + secret + "\n    adress: x",
		"listen: {ops: {token: [" + secret + "], address: 9}}",
		"listen: {proxy: {address: :8000, token: '" + secret + "'}}",
		"listen: {http: {address: :8080, tocken: " + secret + "}}",
		"listen: {http: {address: :8080, token: \"" + secret + "\\u0020 x\"}}",
		"listen: {http: {address: :8080, token: " + secret + ", token: " + secret + "}}",
		"listen: {http: {address: :8080, token: |\n  " + secret + "\n}}",
		"listen:\n  http: {address: :8080, \"token\": \"" + secret + "\n",
		"listen:\n  http:\n    token: " + secret + ": x",
		"listen: {http: {token: \"" + secret + "\x07\"}}",
		"exempt:\n  - headers: {X-Key: " + secret + "\n",
		"upstream: http://me:" + secret + "@127.0.0.1: x",
		"plans: {free: 10/min}\nrules: [{name: a, plan: {header:X-Key: {" + secret + ": free",
		"jwt: {keys: " + secret + ", algorithms: [HS256]}",
		"jwt:\n  keys: " + secret + "\n  algorithm: HS256",
		"jwt: {keys: [{kty: oct, k: " + secret + "}]}",
		"exempt: [{headers: {X-Key: " + secret + ", X Key: " + secret + "}, match: x}]",
		"exempt: [{headers: {X-Key: [" + secret + ", 'short'], Host: " + secret + "}}]",
		"plans: {free: 10/min}\nrules: [{name: a, plan: {header:X-Api-Key: {" + secret + ": fre, '" + secret + "2': }}, default_plan: x}]",
		"plans: {free: 10/min}\nrules: [{name: a, plan: {cookie:c: {" + secret + ": [free]}}, default_plan: free}]",
		"upstream: http://me:" + secret + "@127.0.0.1/x",
		"upstream: me:" + secret + "@127.0.0.1",
		"upstream: [http://me:" + secret + "@127.0.0.1]",
	} {
		_, found := loadText("version: 1\n" + file + "\n")
		if len(found) == 0 {
			t.Errorf("nothing is wrong with %s", file)
		}
		checkHidden(t, file, found, secret)
	}
	for _, variable := range []string{"WEIR_LISTEN_HTTP_TOKEN", "WEIR_JWT_KEYS", "WEIR_LISTEN_PROXY_TOKEN", "WEIR_LISTEN_OPS_TOKN", "WEIR_STORE_PASSWORD"} {
		_, found := loadText("version: 1\nlisten: {http: :8080}\n", variable+"="+secret)
		checkHidden(t, variable, found, secret)
	}
}

func checkHidden(t *testing.T, what string, found Diagnostics, secret string) {
	t.Helper()
	var b bytes.Buffer
	if err := found.Print(&b, true); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	all := b.String() + string(data) + found.Error()
	for _, d := range found {
		all += d.Text
	}
	if strings.Contains(all, secret) {
		t.Errorf("%s is told:\n%s\n%s", what, b.String(), data)
	}
}
