package reload

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"

	"github.com/weirhq/weir/policy"
)

// Config is what a Watcher works with.
type Config struct {
	// Source is where the rules come from.
	Source policy.Source

	// Apply puts a policy in place, whole or not at all. It names fields that
	// the file has no more and that hold all the same until a restart.
	Apply func(*policy.Policy) (kept []string, err error)

	// Report is told how each attempt ended; nil tells nobody.
	Report func(Result)

	// Log is told of every attempt and, one record each, of every diagnostic;
	// nil is slog.Default.
	Log *slog.Logger
}

// Result is how an attempt to load the rules ended.
type Result struct {
	OK      bool               // the rules as they stand in the file decide now
	Policy  *policy.Policy     // what decides now
	Found   policy.Diagnostics // what is wrong with the file, warnings included
	Err     error              // why a good file could not be put in place
	Restart []string           // fields that have changed and take effect with a restart alone
}

// Watcher loads the rules again when it is told to, or when they have changed. It
// belongs to one goroutine. Make it with [New].
type Watcher struct {
	config  Config
	files   tracker
	current *policy.Policy // what decides
	started *policy.Policy // what the daemon started with
}

// New makes a Watcher; nothing is read yet.
func New(c Config) *Watcher {
	if c.Source.ReadFile == nil {
		c.Source.ReadFile = os.ReadFile
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Report == nil {
		c.Report = func(Result) {}
	}
	return &Watcher{config: c, files: tracker{read: c.Source.ReadFile}}
}

// Load reads the rules for the first time, without applying them. The log is told
// of warnings; errors are for the caller to tell.
func (w *Watcher) Load() (*policy.Policy, policy.Diagnostics) {
	p, found := w.load()
	if p != nil {
		logDiagnostics(context.Background(), w.config.Log, found)
	}
	w.current, w.started = p, p
	return p, found
}

func (w *Watcher) load() (*policy.Policy, policy.Diagnostics) {
	source := w.config.Source
	source.ReadFile = w.files.begin()
	return policy.Load(source)
}

// Check looks at the files, and loads again what has changed since it was loaded
// and is the same as at the look before.
func (w *Watcher) Check(ctx context.Context) {
	if w.files.settled() {
		w.Reload(ctx, "the files have changed")
	}
}

// Reload loads everything again, changed or not, and leaves everything as it is
// unless the whole of it is good. Why is for the log.
func (w *Watcher) Reload(ctx context.Context, why string) {
	log := w.config.Log
	p, found := w.load()
	result := Result{Policy: w.current, Found: found}
	logDiagnostics(ctx, log, found)
	switch {
	case p == nil:
		log.ErrorContext(ctx, "the rules were not reloaded: the ones before stay", "file", w.config.Source.Name, "why", why)
	case p.Digest() == w.current.Digest():
		result.OK = true
		log.InfoContext(ctx, "the rules are the same as before", "file", w.config.Source.Name, "why", why, "digest", p.Digest())
	default:
		var kept []string
		kept, result.Err = w.config.Apply(p)
		if result.OK = result.Err == nil; !result.OK {
			log.ErrorContext(ctx, "the rules were not put in place: the ones before stay", "file", w.config.Source.Name, "err", result.Err)
			break
		}
		result.Restart = append(NeedRestart(w.started.Config(), p.Config()), kept...)
		w.applied(ctx, p, why, result.Restart)
		result.Policy = p
	}
	w.config.Report(result)
}

func (w *Watcher) applied(ctx context.Context, p *policy.Policy, why string, restart []string) {
	w.config.Log.InfoContext(ctx, "the rules were reloaded", "file", w.config.Source.Name, "why", why,
		"rules", len(p.Rules()), "digest", p.Digest(), "before", w.current.Digest())
	if gone, added := renamed(w.current, p); len(gone) > 0 && len(added) > 0 {
		w.config.Log.WarnContext(ctx, "rules that are new begin with nothing used; `was: NAME` keeps what was used under another name",
			"gone", gone, "new", added)
	}
	for _, field := range restart {
		w.config.Log.WarnContext(ctx, "a changed field needs a restart; everything else holds already", "field", field)
	}
	w.current = p
}

// renamed are the rules whose states only one of two policies has: those that are
// gone, and those that begin anew. States bear the name that a rule was first called
// by, so that a rule that was renamed twice, or whose was: has been taken away,
// begins anew as well.
func renamed(old, p *policy.Policy) (gone, added []string) {
	states := func(r *policy.Rule) string { return cmp.Or(r.Was, r.Name) }
	only := func(here, there *policy.Policy) (names []string) {
		kept := map[string]bool{}
		rules := there.Config().Rules
		for i := range rules {
			kept[states(&rules[i])] = true
		}
		rules = here.Config().Rules
		for i := range rules {
			if !kept[states(&rules[i])] {
				names = append(names, rules[i].Name)
			}
		}
		return names
	}
	return only(old, p), only(p, old)
}

// logDiagnostics tells each by itself, as a log wants it, with what is known of it.
// The line of the file stays out: it may hold a secret.
func logDiagnostics(ctx context.Context, log *slog.Logger, found policy.Diagnostics) {
	for i := range found {
		d := &found[i]
		level := slog.LevelError
		if d.Severity == policy.Warning {
			level = slog.LevelWarn
		}
		known := slices.DeleteFunc([]slog.Attr{
			slog.String("code", d.Code), slog.String("field", d.Path),
			slog.String("file", d.File), slog.Int("line", d.Line), slog.Int("column", d.Column),
			slog.String("hint", d.Hint),
		}, func(a slog.Attr) bool { return a.Value.Equal(slog.StringValue("")) || a.Value.Equal(slog.IntValue(0)) })
		log.LogAttrs(ctx, level, d.Message, known...)
	}
}
