package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/policy"
)

// The examples are rules files that nothing can be said against, and editors
// know them as such.
func TestExamplesAreRules(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(repository, "examples", "*.yaml"))
	if err != nil || len(names) < 7 {
		t.Fatalf("%d examples, %v", len(names), err)
	}
	load, err := filepath.Glob(filepath.Join(repository, "examples/load", "*.yaml"))
	if err != nil || len(load) == 0 {
		t.Fatalf("%d examples of load, %v", len(load), err)
	}
	for _, name := range append(names, load...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			schema, ok := strings.CutPrefix(first, "# yaml-language-server: $schema=")
			if !ok {
				t.Errorf("the first line is %q and names no schema", first)
			}
			if want := filepath.Join(repository, "docs/rules.schema.json"); filepath.Join(filepath.Dir(name), schema) != want {
				t.Errorf("the schema is %s", schema)
			}
			p, found := policy.Load(policy.Source{Name: name, ReadFile: os.ReadFile})
			if p == nil || len(found) > 0 {
				t.Error(found)
			}
		})
	}
}

// TestExamplesDoWhatTheySay explains requests by them: which rules apply, under
// which plan, and whether the request passes.
func TestExamplesDoWhatTheySay(t *testing.T) {
	const (
		stranger = "--ip=203.0.113.7"
		alice    = "alice.jwt"
	)
	f := func(file, request, want string, flags ...string) {
		t.Helper()
		for i, flag := range flags {
			if strings.HasSuffix(flag, ".jwt") {
				token, err := os.ReadFile(filepath.Join(repository, "examples/keys", flag))
				if err != nil {
					t.Fatal(err)
				}
				flags[i] = "--header=Authorization: Bearer " + strings.TrimSpace(string(token))
			}
		}
		if got := explained(t, file, request, flags...); got != want {
			t.Errorf("%s, %s %v: %s, want %s", file, request, flags, got, want)
		}
	}
	f("api.yaml", "GET /api/orders", "200 api:free", stranger)
	f("api.yaml", "GET /api/orders", "200 api:premium", stranger, alice)
	f("api.yaml", "POST /api/exports", "200 api:premium export", stranger, alice)
	f("api.yaml", "GET /healthz", "200", stranger)
	f("behind-nginx.yaml", "GET /search", "200 pages search", stranger)
	f("login.yaml", "POST /login", "200 login-address", stranger)
	f("login.yaml", "POST /login", "200 login-address login-name", stranger, "--header=X-Login-Name: a")
	f("per-key.yaml", "GET /api/x", "400 address api-key:unknown", stranger)
	f("per-key.yaml", "GET /api/x", "200 address api-key:unknown", stranger, "--header=X-Api-Key: guessed")
	f("per-key.yaml", "GET /api/x", "200 address api-key:pro", stranger, "--header=X-Api-Key: example-key-9d2b6e4f8a")
	f("quickstart.yaml", "POST /api/v1/jobs", "200 create-job", stranger)
	f("shadow.yaml", "GET /search", "200 everything search", stranger)
	f("wordpress.yaml", "POST /wp-login.php", "200 everything wp-login", stranger)
	f("wordpress.yaml", "POST /wp-login.php/x", "200 everything wp-login", stranger)
	f("wordpress.yaml", "POST //xmlrpc.php", "200 everything xmlrpc", stranger)
	f("wordpress.yaml", "GET /wp-json/wp/v2/users", "200 everything rest", stranger)
	f("wordpress.yaml", "GET /wp-content/uploads/a.png", "200", stranger)
}

// explained is what weir explain says of a request by an example: the status, and
// the rules that had something to say, with the plan.
func explained(t *testing.T, file, request string, flags ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	env := processEnv()
	env.Stdout, env.Stderr, env.Environ = &stdout, &stderr, nil
	args := append([]string{"explain", filepath.Join(repository, "examples", file), request, "--json"}, flags...)
	if code := run(args, env); code != exitOK {
		t.Fatalf("%v: exit code %d\n%s", args, code, stderr.String())
	}
	var e decide.ExplainAnswer
	if err := json.Unmarshal([]byte(stdout.String()), &e); err != nil {
		t.Fatal(err)
	}
	said := []string{strconv.Itoa(e.Status)}
	for i := range e.Rules {
		r := &e.Rules[i]
		switch {
		case !r.Matched || e.Exempt != nil || r.Verdict == "skipped":
		case r.Plan != "":
			said = append(said, r.Rule+":"+r.Plan)
		default:
			said = append(said, r.Rule)
		}
	}
	return strings.Join(said, " ")
}

// Scripts are for bash, and may be run.
func TestLoadScripts(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(repository, "examples/load/*.sh"))
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o111 == 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		text, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(text), "\n"), "set -euo pipefail") {
			t.Errorf("%s goes on after a mistake: %v", name, err)
		}
	}
}

// A script that lacks its tool says which, and how to have it.
func TestLoadScriptsSayWhatIsMissing(t *testing.T) {
	for _, tool := range []string{"hey", "wrk"} {
		cmd := exec.Command("bash", filepath.Join(repository, "examples/load", tool+".sh"))
		cmd.Env = []string{"PATH=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if want := "apt-get install " + tool; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q, want %q", tool, err, out, want)
		}
	}
}
