package reload_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestHoweverAFileIsChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *rig)
	}{
		{"written in place", func(r *rig) { r.write("weir.yaml", rules(2)) }},
		{"renamed over", func(r *rig) {
			r.write("weir.yaml~", rules(2))
			r.must(os.Rename(r.path("weir.yaml~"), r.path("weir.yaml")))
		}},
		{"moved away and written anew", func(r *rig) {
			r.must(os.Rename(r.path("weir.yaml"), r.path("weir.yaml~")))
			r.write("weir.yaml", rules(2))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, rules(1))
			r.look(3)
			r.wantApplied()
			c.change(r)
			r.look(5)
			r.wantApplied("2/s")
			r.wantResults("+")
		})
	}
}

// TestConfigMap swaps a mounted ConfigMap's files as Kubernetes does: weir.yaml is
// a link through ..data, which is a link that is renamed over.
func TestConfigMap(t *testing.T) {
	r := &rig{T: t, dir: t.TempDir(), read: os.ReadFile}
	version := func(name, text string) {
		r.must(os.Mkdir(r.path(name), 0o700))
		r.write(name+"/weir.yaml", text)
		r.must(os.Symlink(name, r.path("..data_tmp")))
		r.must(os.Rename(r.path("..data_tmp"), r.path("..data")))
	}
	version("..2026_11_01", rules(1))
	r.must(os.Symlink("..data/weir.yaml", r.path("weir.yaml")))
	r.begin(r.path("weir.yaml"))
	version("..2026_11_02", rules(2))
	r.must(os.RemoveAll(r.path("..2026_11_01")))
	r.look(2)
	r.wantApplied("2/s")
}

func TestTouchedIsNotChanged(t *testing.T) {
	r := newRig(t, rules(1))
	r.must(os.Chtimes(r.path("weir.yaml"), time.Unix(1, 0), time.Unix(1, 0)))
	r.look(3)
	r.write("weir.yaml", rules(1))
	r.look(3)
	r.wantApplied()
	r.wantResults("")
}

// TestStillBeingWritten has a file that is a good one at each step: a rules file
// of which the last rules are missing is valid, and lets too much pass.
func TestStillBeingWritten(t *testing.T) {
	r := newRig(t, rules(1))
	for n := range 5 {
		r.write("weir.yaml", rules(n+2))
		r.look(1)
	}
	r.wantApplied()
	r.look(1)
	r.wantApplied("6/s")
}

func TestBadFileChangesNothing(t *testing.T) {
	r := newRig(t, rules(1))
	r.write("weir.yaml", "version: 1\nruls: []\nrules:\n  - {name: jobs, limit: 5/sec burst}\n  - {limit: 3/m}\n")
	r.look(10)
	r.wantApplied()
	r.wantResults("-") // once, not at each look
	got := r.results[0]
	if got.Policy == nil || limitOf(got.Policy) != "1/s" {
		t.Errorf("after a bad file %v decides", got.Policy)
	}
	if n := len(got.Found); n < 3 {
		t.Errorf("%d diagnostics, of three mistakes: %v", n, got.Found)
	}
	r.wantLog("level=ERROR", len(got.Found)+1)
	r.wantLog("the ones before stay", 1)

	r.write("weir.yaml", rules(3))
	r.look(2)
	r.wantApplied("3/s")
	r.wantResults("-+")
}

// TestWhatIsNotKnownIsLeftOut has mistakes of a whole file and of none, which have
// no place in it.
func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	r := newRig(t, rules(1))
	for _, text := range []string{"", "\x00", "version: 1\nlimit: x\n"} {
		r.write("weir.yaml", text)
		r.Reload(t.Context(), "SIGHUP")
	}
	r.must(os.Remove(r.path("weir.yaml")))
	r.Reload(t.Context(), "SIGHUP")
	r.wantResults("----")
	for line := range strings.Lines(r.log.String()) {
		if strings.Contains(line, `=""`) || strings.Contains(line, "=0") || !strings.Contains(line, "file=") {
			t.Errorf("a line with nothing in it: %s", line)
		}
	}
	r.wantLog("code=unknown-field field=limit file="+r.path("weir.yaml")+" line=2 column=1 hint=", 1)
}

func TestGoodAgainAsBefore(t *testing.T) {
	r := newRig(t, rules(1))
	r.write("weir.yaml", "no rules")
	r.look(2)
	r.write("weir.yaml", rules(1))
	r.look(2)
	r.wantApplied()
	r.wantResults("-+")
}

func TestDeletedAndBack(t *testing.T) {
	for _, count := range []int{1, 2} {
		t.Run(fmt.Sprintf("with %d/s", count), func(t *testing.T) {
			r := newRig(t, rules(1))
			r.must(os.Remove(r.path("weir.yaml")))
			r.look(4)
			r.wantApplied()
			r.wantResults("-")
			r.write("weir.yaml", rules(count))
			r.look(4)
			r.wantResults("-+")
			if count == 2 {
				r.wantApplied("2/s")
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	r := newRig(t, rules(1))
	r.read = unreadable
	r.look(4)
	r.wantApplied()
	r.wantResults("-")
	r.read = os.ReadFile
	r.look(4)
	r.wantResults("-+")
}

// TestNamedFiles changes, takes away and gives back what the rules file names.
func TestNamedFiles(t *testing.T) {
	const withToken = "version: 1\nlisten: {http: {address: '127.0.0.1:0', token: file:token}}\nrules:\n  - {name: jobs, limit: 1/s}\n"
	r := newRig(t, rules(5))
	r.write("weir.yaml", withToken)
	r.look(2)
	r.wantResults("-") // there is no such file
	r.write("token", strings.Repeat("a", 32))
	r.look(2)
	r.wantResults("-+")
	r.wantApplied("1/s")
	r.write("token", strings.Repeat("b", 32))
	r.look(2)
	r.wantResults("-++")
	r.wantApplied("1/s", "1/s")
	r.wantLog(strings.Repeat("b", 8), 0)
}

func TestReloadWithoutAChange(t *testing.T) {
	r := newRig(t, rules(1))
	r.Reload(t.Context(), "SIGHUP")
	r.wantApplied()
	r.wantResults("+")
	r.wantLog("why=SIGHUP", 1)
}

// TestWhatDecidesIsTheLatest changes the rules twice, and then breaks them.
func TestWhatDecidesIsTheLatest(t *testing.T) {
	r := newRig(t, rules(1))
	for _, count := range []int{2, 3} {
		r.write("weir.yaml", rules(count))
		r.look(2)
	}
	r.Reload(t.Context(), "SIGHUP")
	r.wantApplied("2/s", "3/s")
	r.write("weir.yaml", rules(0))
	r.look(2)
	r.wantResults("+++-")
	if got := limitOf(r.results[3].Policy); got != "3/s" {
		t.Errorf("%s decides", got)
	}
	r.write("weir.yaml", rules(1))
	r.look(2)
	r.wantApplied("2/s", "3/s", "1/s")
}

// TestReloadAtOnce is told to, and does not wait for the file to stand still.
func TestReloadAtOnce(t *testing.T) {
	r := newRig(t, rules(1))
	r.write("weir.yaml", rules(2))
	r.Reload(t.Context(), "SIGHUP")
	r.wantApplied("2/s")
	r.look(3)
	r.wantResults("+") // that was the change
}

func TestNotPutInPlace(t *testing.T) {
	r := newRig(t, rules(1))
	r.failing = errNoRoom
	r.write("weir.yaml", rules(2))
	r.look(4)
	r.wantApplied()
	r.wantResults("-")
	if got := r.results[0]; got.Err == nil || limitOf(got.Policy) != "1/s" {
		t.Errorf("%v, and %s decides", got.Err, limitOf(got.Policy))
	}
	r.failing = nil
	r.Reload(t.Context(), "SIGHUP")
	r.wantApplied("2/s")
}

func TestNeedsARestart(t *testing.T) {
	const head = "version: 1\nupstream: demo\n"
	f := func(before, after, want string) {
		t.Helper()
		r := newRig(t, head+before+rules(1)[len("version: 1\n"):])
		r.write("weir.yaml", head+after+rules(2)[len("version: 1\n"):])
		r.look(2)
		r.wantApplied("2/s")
		if got := strings.Join(r.results[0].Restart, " "); got != want {
			t.Errorf("from %q to %q: %q needs a restart, want %q\n%s", before, after, got, want, &r.log)
		}
		r.wantLog("needs a restart", len(r.results[0].Restart))
	}
	f("", "", "")
	f("", "headers: {legacy: off}\n", "")
	f("", "enforce: shadow\n", "")
	f("", "memory: {max_keys: 5000}\n", "memory.max_keys")
	f("memory: {on_full: admit}\n", "memory: {on_full: refuse}\n", "memory.on_full")
	f("listen: {proxy: ':8000'}\n", "listen: {proxy: ':8001'}\n", "listen.proxy.address")
	f("listen: {proxy: ':8000'}\n", "listen: {proxy: ':8000', ops: ':9090'}\n", "listen.ops")
	f("", "listen: {proxy: ':8000'}\n", "listen.ops") // without listen there is one by default
	f("", "listen: {proxy: ':8000', ops: '127.0.0.1:9090'}\n", "")
	f("listen: {proxy: {address: ':8000', max_conns: 5, max_conns_per_ip: 3}}\n", "listen: {proxy: ':8000'}\n",
		"listen.proxy.max_conns listen.proxy.max_conns_per_ip")
	f("listen: {http: {address: ':8080', token: aaaaaaaaaaaaaaaa}}\n", "listen: {http: {address: ':8080', token: bbbbbbbbbbbbbbbb}}\n", "")
}

// TestKeptUntilARestart has a change of which whoever applies it holds a part back.
func TestKeptUntilARestart(t *testing.T) {
	r := newRig(t, rules(1))
	r.kept = []string{"listen.http.token"}
	r.write("weir.yaml", rules(2)+"memory: {max_keys: 5000}\n")
	r.look(2)
	r.wantLog("needs a restart", 2)
	if got := strings.Join(r.results[0].Restart, " "); got != "memory.max_keys listen.http.token" {
		t.Errorf("%q", got)
	}
}

// TestBackToWhatItWas compares with what the daemon was started with, not with
// the rules before.
func TestBackToWhatItWas(t *testing.T) {
	r := newRig(t, rules(1))
	r.write("weir.yaml", rules(1)+"memory: {max_keys: 5000}\n")
	r.look(2)
	r.write("weir.yaml", rules(2))
	r.look(2)
	if got := r.results; len(got) != 2 || len(got[0].Restart) != 1 || len(got[1].Restart) != 0 {
		t.Errorf("%+v", got)
	}
}
