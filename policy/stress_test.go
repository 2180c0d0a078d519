package policy

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// filled repeats what f gives until a file is as large as it may be.
func filled(head, tail string, f func(i int) string) string {
	size := largestFile / 16
	if os.Getenv("WEIR_LONG") == "1" {
		size = largestFile
	}
	var b strings.Builder
	b.WriteString("version: 1\n" + head)
	for i := 0; ; i++ {
		s := f(i)
		if b.Len()+len(s)+len(tail) > size {
			break
		}
		b.WriteString(s)
	}
	b.WriteString(tail)
	return b.String()
}

func each(format string) func(i int) string {
	return func(i int) string {
		if !strings.Contains(format, "%") {
			return format
		}
		return fmt.Sprintf(format, i)
	}
}

// Files as large as they may be, made to take long, end with something to say.
func TestFloodedFilesEnd(t *testing.T) {
	limits := strings.TrimSuffix(strings.Repeat("1/s, ", 100), ", ")
	for name, text := range map[string]string{
		"unknown fields":     filled("", "", each("field%d: 1\n")),
		"one line":           filled("routes: [", "]\n", each("{}, ")),
		"one line of runes":  filled("routes: [ä, ", "]\n", each("ö%d, ")),
		"wrong patterns":     filled("rules: [{name: a, limit: 1/s, match: [", "]}]\n", each("x, ")),
		"patterns":           filled("rules: [{name: a, limit: 1/s, match: [", "]}]\n", each("/r%d, ")),
		"rules":              filled("rules:\n", "", each("- {name: r%d, key: host, limit: 1/s}\n")),
		"secrets":            filled("exempt: [{headers: {", "}}]\n", each("X-%d: [ß], ")),
		"duplicates":         filled("", "", each("enforce: onn\n")),
		"plans":              filled("rules: [{name: a, plan: jwt:plan}]\nplans: {", "}\n", each("p%d: 1/s, ")),
		"wrong limits":       filled("rules: [{name: a, limits: [", "]}]\n", each("x, ")),
		"networks":           filled("client_ip: {header: X-Forwarded-For, trusted_proxies: [", "]}\n", each("10.0.0.0/8, ")),
		"aliases":            filled("routes: &r ["+limits+"]\nrules:\n- &a {name: x, limits: *r, match: *r}\n", "", each("- *a\n")),
		"comments":           filled("", "", each("# comment\n")),
		"brackets":           filled("routes: ", "", each("[")),
		"quotes":             filled("routes: [", "", each("\"\" ")),
		"anchors":            filled("routes: [", "]", each("&a%d x, ")),
		"a long name":        filled("", ": 1\n", each("n")),
		"a long value":       filled("upstream: ", "\n", each("v")),
		"unknown characters": filled("upstream: \"", "\"\n", each("日")),
	} {
		_, found := loadText(text)
		fine := name == "comments" || name == "networks" && len(text) < largestFile/2 // short of 10,000
		if (len(found) == 0) != fine || len(found) > mostDiagnostics+1 {
			t.Errorf("%s: %d found", name, len(found))
		}
		if err := found.Print(io.Discard, true); err != nil {
			t.Error(err)
		}
	}
}
