package doctest

import (
	"os/exec"
	"syscall"
)

// EndWithTest has a command that is yet to be started get a signal when the test's
// process ends, however it does; on other systems than Linux nothing comes of it.
func EndWithTest(cmd *exec.Cmd, by syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = by
}
