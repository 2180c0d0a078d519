package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Table is a part of the report as it is printed.
type Table struct {
	Title   string   // what the figures are
	Columns []string // without the first, which holds names, and the last, which holds remarks
	Rows    []Row    // in the order of the lineup
	Notes   []string // what is to be known of all rows
}

// A Row is one contender's.
type Row struct {
	Name   string   // whose it is
	Cells  []string // one for each column
	Remark string   // what the figures do not say
}

// none is an empty cell.
const none = "–"

// WriteText prints the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.Machine.lines() {
		fmt.Fprintln(&b, line)
	}
	for _, t := range r.Tables() {
		t.text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) text(b *strings.Builder) {
	widths := make([]int, 1+len(t.Columns))
	measure := func(name string, cells []string) {
		widths[0] = max(widths[0], utf8.RuneCountInString(name))
		for i, cell := range cells {
			widths[i+1] = max(widths[i+1], utf8.RuneCountInString(cell))
		}
	}
	measure("", t.Columns)
	for _, row := range t.Rows {
		measure(row.Name, row.Cells)
	}
	line := func(name string, cells []string, remark string) {
		fmt.Fprintf(b, "%-*s", widths[0], name)
		for i, cell := range cells {
			fmt.Fprintf(b, "  %*s", widths[i+1], cell)
		}
		if remark != "" {
			fmt.Fprintf(b, "  %s", remark)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "\n%s\n\n", t.Title)
	line("", t.Columns, "")
	for _, row := range t.Rows {
		line(row.Name, row.Cells, row.Remark)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(b, "(%s)\n", note)
	}
}

// WriteMarkdown prints the report for a page.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "```\n%s\n```\n", strings.Join(r.Machine.lines(), "\n"))
	for _, t := range r.Tables() {
		t.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", t.Title)
	fmt.Fprintf(b, "| | %s | |\n|---|%s---|\n", strings.Join(t.Columns, " | "), strings.Repeat("---|", len(t.Columns)))
	for _, row := range t.Rows {
		name := row.Name
		if ours(name) {
			name = "**" + name + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, strings.Join(row.Cells, " | "), row.Remark)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(b, "\n(%s)\n", note)
	}
}

// WriteJSON writes all samples, as ReadJSON reads them.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// ReadJSON reads what WriteJSON has written.
func ReadJSON(from io.Reader) (*Report, error) {
	r := new(Report)
	return r, json.NewDecoder(from).Decode(r)
}
