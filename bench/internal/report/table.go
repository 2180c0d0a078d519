package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
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
	Stands []string // how it stands beside the others, figure by figure, each with its comma or semicolon
	Called string   // what Name is called where that is told below the table; "" for Name
}

// said is all that is said of a row, in one line.
func (row *Row) said() string {
	stands := strings.Join(row.Stands, " ")
	if row.Remark == "" || stands == "" {
		return row.Remark + stands
	}
	return row.Remark + "; " + stands
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
	beside := t.fits(widths)
	for _, row := range t.Rows {
		if beside {
			line(row.Name, row.Cells, row.said())
		} else {
			line(row.Name, row.Cells, row.Remark)
		}
	}
	if !beside {
		t.stands(b)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(b, "(%s)\n", note)
	}
}

// widest is how long a line of the text is at most, but for remarks that are no figures.
const widest = 120

// fits reports whether the lines of a table have room for how their rows stand.
func (t *Table) fits(widths []int) bool {
	const gap = 2
	figures := 0
	for _, width := range widths {
		figures += width + gap
	}
	return !slices.ContainsFunc(t.Rows, func(row Row) bool {
		return len(row.Stands) > 0 && figures+utf8.RuneCountInString(row.said()) > widest
	})
}

// stands tells below a table how its rows stand, each of them in a line of its own that
// goes on below where it is long.
func (t *Table) stands(b *strings.Builder) {
	b.WriteByte('\n')
	for _, row := range t.Rows {
		if len(row.Stands) > 0 {
			wrap(b, cmp.Or(row.Called, row.Name)+": ", row.Stands)
		}
	}
	if len(t.Notes) > 0 {
		b.WriteByte('\n')
	}
}

// wrap writes parts behind a head, and indents what has no room in the line.
func wrap(b *strings.Builder, head string, parts []string) {
	indent := utf8.RuneCountInString(head)
	b.WriteString(head)
	at := indent
	for i, part := range parts {
		long := utf8.RuneCountInString(part)
		switch {
		case i == 0:
		case at+1+long > widest:
			fmt.Fprintf(b, "\n%*s", indent, "")
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(part)
		at += long
	}
	b.WriteByte('\n')
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
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, strings.Join(row.Cells, " | "), row.said())
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
