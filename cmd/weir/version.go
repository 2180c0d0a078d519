package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionJSON is what `weir version --json` prints.
type versionJSON struct {
	Version  string `json:"version"`            // of the module, as in v1.2.3; devel where it was built from a folder
	Revision string `json:"revision,omitempty"` // the commit
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go"`                 // the toolchain
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func newVersionCmd(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Say which version this is",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printVersion(env, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printVersion(env *Env, asJSON bool) error {
	v := version(env)
	if asJSON {
		return printJSON(env.Stdout, v)
	}
	_, err := fmt.Fprintln(env.Stdout, v)
	return err
}

// What the linker may write for a build that sees no repository, as in a container:
// -ldflags '-X main.linkedVersion=v1.2.3 -X main.linkedRevision=0123456789ab…'.
var linkedVersion, linkedRevision string

// buildInfo is what the toolchain and the linker wrote into this binary.
func buildInfo() (*debug.BuildInfo, bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if linkedVersion != "" {
		info.Main.Version = linkedVersion
	}
	if linkedRevision != "" {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: linkedRevision})
	}
	return info, ok || linkedVersion != "" || linkedRevision != ""
}

// version is what was written into the binary.
func version(env *Env) versionJSON {
	v := versionJSON{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := env.BuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		v.set(s)
	}
	return v
}

func (v *versionJSON) set(s debug.BuildSetting) {
	switch s.Key {
	case "vcs.revision":
		v.Revision = s.Value
	case "vcs.time":
		v.Time = s.Value
	case "vcs.modified":
		v.Modified = s.Value == "true"
	}
}

// String is one line: weir v1.2.3 (0123456789ab, modified) go1.26.0 linux/amd64.
func (v versionJSON) String() string {
	text := "weir " + v.Version
	if v.Revision != "" {
		text += " (" + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return fmt.Sprintf("%s %s %s/%s", text, v.Go, v.OS, v.Arch)
}
