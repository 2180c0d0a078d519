package doctest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// shell is a bash that keeps its variables and jobs from command to command.
type shell struct {
	cmd    *exec.Cmd
	in     *os.File      // what it reads
	status chan string   // exit code and folder, one line a command
	ended  chan struct{} // closed when bash has ended
	out    string        // folder of what commands print
	dir    string        // where it is
	count  int           // commands so far
}

// open starts a bash in a folder, as the leader of a group of its own.
func open(ctx context.Context, dir, out string, env []string) (*shell, error) {
	commands, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer shut(commands)
	statuses, told, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer shut(told)
	s := &shell{
		cmd: exec.CommandContext(ctx, "bash", "--norc", "--noprofile"),
		in:  in, status: make(chan string, 1), ended: make(chan struct{}), out: out, dir: dir,
	}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdin = dir, append(slices.Clip(env), "PWD="+dir), commands
	s.cmd.ExtraFiles = []*os.File{told} // 3
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	EndWithTest(s.cmd, syscall.SIGUSR1) // not SIGHUP, which is ignored under nohup
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close(), statuses.Close())
	}
	go func() {
		defer shut(statuses)
		for lines := bufio.NewScanner(statuses); lines.Scan(); {
			select {
			case s.status <- lines.Text():
			case <-s.ended:
				return
			}
		}
	}()
	go func() {
		_ = s.cmd.Wait() // that it ended is all there is to know
		close(s.ended)
	}()
	// It outlives the signal that ends its jobs, so as to see them off: what has
	// no parent any more may not be seen off by anybody. Where the test dies, it
	// takes along what it has started.
	_, err = io.WriteString(in, "trap : TERM; trap 'kill -KILL 0' EXIT\n")
	return s, err
}

// shut closes an end of a pipe that only another process writes to or reads.
func shut(f *os.File) { _ = f.Close() }

// begin gives bash a command, and returns the file of what it prints. Bash sees
// the exit code of the command before, as at a prompt.
func (s *shell) begin(command string) (printed string, err error) {
	s.count++
	printed = filepath.Join(s.out, strconv.Itoa(s.count))
	_, err = fmt.Fprintf(s.in, "(exit ${before:-0})\n{ %s\n} >'%s' 2>&1 </dev/null 3>&-\nbefore=$?; echo $before \"$PWD\" >&3\n", command, printed)
	return printed, err
}

// code is the exit code of the command that was begun, if it has ended.
func (s *shell) code() (code int, ended bool, err error) {
	select {
	case text := <-s.status:
		text, s.dir, _ = strings.Cut(text, " ")
		code, err = strconv.Atoi(text)
		return code, true, err
	case <-s.ended:
		return 0, false, errors.New("it ended the shell")
	default:
		return 0, false, nil
	}
}

// text is what is printed in a file so far.
func text(printed string) string {
	b, err := os.ReadFile(printed)
	if err != nil {
		return ""
	}
	return string(b)
}

// close ends bash and everything that it has started.
func (s *shell) close(within func(func() bool) bool) error {
	group := -s.cmd.Process.Pid
	gone := func() bool { return errors.Is(syscall.Kill(group, 0), syscall.ESRCH) }
	_, err := io.WriteString(s.in, "wait\nwait\nexit\n")
	if errors.Is(err, syscall.EPIPE) {
		err = nil // it has ended by itself
	}
	err = errors.Join(err, s.in.Close())
	if e := syscall.Kill(group, syscall.SIGTERM); e != nil && !errors.Is(e, syscall.ESRCH) {
		err = errors.Join(err, e)
	}
	if !within(gone) {
		err = errors.Join(err, errors.New("what the page started does not end"), syscall.Kill(group, syscall.SIGKILL))
	}
	<-s.ended
	return err
}

// environment is what commands have of the one that the test has.
func environment(home, path string) []string {
	env := []string{"HOME=" + home, "PATH=" + path + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GO") || strings.HasPrefix(v, "TMPDIR=") {
			env = append(env, v)
		}
	}
	return env
}
