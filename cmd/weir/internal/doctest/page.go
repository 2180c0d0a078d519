package doctest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Page is a page of documentation.
type Page struct {
	Name      string     // for messages
	Steps     []Step     // in the page's order
	Fragments []Fragment // YAML that is no file of its own
}

// Step is a file to be written, or a command to be run.
type Step struct {
	Line   int      // of the page, from 1
	File   string   // name of a file, "" for a command
	Text   string   // the file's content, or the command
	Output []string // what the command prints
	Fails  bool     // the next command asks for its exit code
}

// Fragment is a part of a rules file.
type Fragment struct {
	Line int    // of the page, from 1
	Text string // what stands there
}

// block is a fenced block of a page.
type block struct {
	line     int // of what is within, from 1
	language string
	lines    []string
}

// fence begins or ends a block; within a list it is indented.
var fence = regexp.MustCompile("^( *)```([a-z]*)$")

// Parse reads a page. What could never be run is an error, all of it at once.
func Parse(name, text string) (*Page, error) {
	p := &Page{Name: name}
	var errs []error
	blocks, err := blocksOf(text)
	if err != nil {
		errs = append(errs, fmt.Errorf("%s:%w", name, err))
	}
	commands := 0
	for _, b := range blocks {
		steps, err := p.read(b)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%w", name, err))
		}
		for j := range steps {
			if steps[j].File == "" {
				commands++
			}
		}
		p.Steps = append(p.Steps, steps...)
	}
	if commands == 0 {
		errs = append(errs, fmt.Errorf("%s: there is no command to run", name))
	}
	return p, errors.Join(append(errs, p.hurries()...)...)
}

// waits is how a page waits for what it has started in the background: a reader
// may paste faster than it starts.
const waits = "--retry-connrefused"

// hurries finds commands that are not awaited.
func (p *Page) hurries() (errs []error) {
	started := 0
	for i := range p.Steps {
		s := &p.Steps[i]
		switch {
		case s.background():
			started = s.Line
		case s.File == "":
			if started > 0 && !strings.Contains(s.Text, waits) {
				errs = append(errs, fmt.Errorf("%s:%d: the command after it does not wait until it answers: use curl %s", p.Name, started, waits))
			}
			started = 0
		}
	}
	return errs
}

// blocksOf finds the fenced blocks of a page.
func blocksOf(text string) (list []block, err error) {
	var open *block
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			open, indent = &block{line: i + 2, language: m[2]}, m[1]
		case open != nil && m != nil && m[2] == "":
			list, open = append(list, *open), nil
		case open != nil:
			open.lines = append(open.lines, strings.TrimPrefix(line, indent))
		}
	}
	if open != nil {
		err = fmt.Errorf("%d: the block has no end", open.line)
	}
	return list, err
}

// read makes steps of a block.
func (p *Page) read(b block) ([]Step, error) {
	if len(b.lines) > 0 {
		if name, ok := strings.CutPrefix(b.lines[0], "# file: "); ok {
			return []Step{{Line: b.line, File: strings.TrimSpace(name), Text: strings.Join(b.lines, "\n") + "\n"}}, nil
		}
	}
	switch b.language {
	case "console":
		return b.commands()
	case "sh", "bash", "shell":
		return nil, fmt.Errorf("%d: the block is never run: make it a console block, with `$ ` before each command", b.line)
	case "yaml":
		p.Fragments = append(p.Fragments, Fragment{b.line, strings.Join(b.lines, "\n") + "\n"})
	}
	return nil, nil
}

// commands reads a console block.
func (b *block) commands() ([]Step, error) {
	var steps []Step
	goesOn := false
	for i, line := range b.lines {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(steps) - 1
		switch {
		case goesOn:
			steps[last].Text += "\n" + line
			goesOn = strings.HasSuffix(line, `\`)
		case begins:
			steps = append(steps, Step{Line: b.line + i, Text: command})
			goesOn = strings.HasSuffix(command, `\`)
			if last >= 0 && strings.TrimSpace(command) == "echo $?" {
				steps[last].Fails = true
			}
		case last < 0:
			return nil, fmt.Errorf("%d: the block is never run: its first line is no command", b.line)
		default:
			steps[last].Output = append(steps[last].Output, line)
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%d: the block is never run: it is empty", b.line)
	}
	return steps, nil
}

// background reports whether a command goes on while others run.
func (s *Step) background() bool {
	text := strings.TrimSpace(s.Text)
	return strings.HasSuffix(text, "&") && !strings.HasSuffix(text, "&&")
}

// looking finds commands that change nothing and may be run again.
var looking = regexp.MustCompile(`^(grep|tail|cat) |^curl [^|]*localhost:9090/`)

func (s *Step) looks() bool { return looking.MatchString(s.Text) }
