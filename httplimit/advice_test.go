package httplimit

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// today is when the answers of these tests come.
func today() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC) }

// mostSpan is what all spans are cut to that are compared: a Transport does so
// with MaxPause, and longer ones have no meaning.
const mostSpan = 30 * 24 * time.Hour

// compare reads an answer in both ways.
func (f *refFields) compare(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, status int, h http.Header,
) {
	t.Helper()
	got := readAdvice(status, h, today())
	want := f.advice(status, h, today(), mostSpan)
	got.wait = min(got.wait, mostSpan)
	for i := range got.stated {
		s := &got.stated[i]
		if s.reset <= 0 || s.left < 0 {
			t.Fatalf("%d %v: %+v", status, h, got)
		}
		s.reset = min(s.reset, mostSpan)
	}
	if got.refused != want.refused || got.wait != want.wait || !slices.Equal(got.stated, want.stated) {
		t.Fatalf("%d %v: %+v, want %+v", status, h, got, want)
	}
	if got.wait < 0 {
		t.Fatalf("%d %v: %+v", status, h, got)
	}
}

// fieldNames are those that are read, in canonical form.
func fieldNames() []string {
	names := []string{"Date", "Age", "Ratelimit", "Ratelimit-Policy"}
	for _, d := range delays {
		names = append(names, d.name)
	}
	for _, f := range families {
		names = append(names, f.remaining, f.reset)
	}
	return names
}

// FuzzAdvice reads answers whose header is any text: a line a field, `name: value`,
// or `value` for the field whose turn it is.
func FuzzAdvice(f *testing.F) {
	for _, seed := range []struct {
		status int
		header string
	}{
		{429, "Retry-After: 120"},
		{429, "Date: Mon, 30 Nov 2026 12:00:00 GMT\nRetry-After: Mon, 30 Nov 2026 12:00:30 GMT"},
		{503, "Retry-After: 2.0\nRetry-After: -1\nRetry-After-Ms: 1999.5"},
		{429, "Retry-After: 99999999999999999999999\nX-Ratelimit-Retry-After: 1"},
		{200, "Ratelimit: \"burst\";r=19;t=1, \"hour\";r=731;t=2632\nRatelimit-Policy: \"burst\";q=20;w=1, \"hour\";q=1000;w=3600;acme-burst=50"},
		{200, "Ratelimit: \"a\\\"b\\\\\";r=0;t=12;pk=:cHsdsRa894==:;x=@1;y=%\"%e2\";z=?1;n=-1.500;*=tok/en:x"},
		{429, "Ratelimit: \"x\"; r=0; t=10\nAge: 0"},
		{200, "Ratelimit: limit=100, remaining=0, reset=5\nAge: 17"},
		{200, "Ratelimit: \"b\";r=0;t=3\nRatelimit-Policy: \"b\";q=1;qu=\"content-bytes\";w=9"},
		{403, "X-Ratelimit-Remaining: 0\nX-Ratelimit-Reset: 1796040060\nDate: Mon, 30 Nov 2026 12:00:00 GMT"},
		{200, "X-Ratelimit-Remaining: 5\nX-Ratelimit-Reset: 1796040060123\nX-Rate-Limit-Remaining: 1\nX-Rate-Limit-Reset: 6m0s"},
		{200, "X-Ratelimit-Remaining-Tokens: 0\nX-Ratelimit-Reset-Tokens: 20ms\nX-Ratelimit-Reset: 2026-11-30T12:01:00Z"},
		{200, "Ratelimit-Remaining: 0\nRatelimit-Reset: 1796040000.25"},
	} {
		f.Add(seed.status, seed.header)
	}
	fields := newRefFields()
	f.Fuzz(func(t *testing.T, status int, text string) {
		h := http.Header{}
		for line := range strings.SplitSeq(text, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			h[name] = append(h[name], value)
		}
		for _, s := range []int{status, 200, 429, 403, 503} {
			fields.compare(t, s, h)
		}
	})
}

// The same with headers that are put together from what means something.
func TestAdviceIsWhatTheReferenceReads(t *testing.T) {
	names, fields := fieldNames(), newRefFields()
	values := rapid.OneOf(
		rapid.SampledFrom([]string{
			"0", "1", "5", "60", "3600", "-1", "1.5", "0.0", "007", "", " 5", "5 ", "1e5", "+5", ".5", "5.", "999999999", "1000000000",
			"1796040060", "1796040060.25", "99999999999", "100000000000", "1796040060123", "99999999999999999999",
			"Mon, 30 Nov 2026 12:00:30 GMT", "Mon, 30 Nov 2026 11:00:30 GMT", "Monday, 30-Nov-26 12:00:09 GMT", "Mon Nov 30 12:00:07 2026",
			"2026-11-30T12:00:09Z", "2026-11-30T13:00:09.5+01:00", "6m0s", "20ms", "-6m", "1h2m", "limit=9, remaining=0, reset=4",
			"remaining=1;x, reset=3", "remaining, reset=3", "remaining=0, remaining=1, reset=2", "remaining=0, reset=2,",
		}),
		rapid.Custom(drawList),
	)
	rapid.Check(t, func(rt *rapid.T) {
		h := http.Header{}
		for range rapid.IntRange(1, 6).Draw(rt, "fields") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			if rapid.Bool().Draw(rt, "list") {
				name = rapid.SampledFrom(names[2:4]).Draw(rt, "list name")
			}
			h[name] = append(h[name], values.Draw(rt, "value"))
		}
		fields.compare(rt, rapid.SampledFrom([]int{200, 304, 403, 429, 500, 503}).Draw(rt, "status"), h)
	})
}

// drawList draws a list of items, and at times one that is none.
func drawList(rt *rapid.T) string {
	value := rapid.SampledFrom([]string{
		"=0", "=1", "=5", "=60", "=-1", "=1.5", "=999999999999999", "=1000000000000000", "", "=", `="requests"`, `="content-bytes"`,
		`="concurrent-requests"`, `="request"`, `=""`, "=tok", "=:aGk=:", "=:a b:", "=?1", "=?2", "=@5", "=@1.5", `=%"a%c3%a4"`, `=%"%C3"`, "=(1 2)", `="\x"`,
	})
	var b strings.Builder
	for i := range rapid.IntRange(1, 3).Draw(rt, "members") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{", ", ",", " \t, ", ";", ",,"}).Draw(rt, "comma"))
		}
		b.WriteString(rapid.SampledFrom([]string{`"a"`, `"b"`, `"a\"\\"`, `"ä"`, `tok`, `"`, "5"}).Draw(rt, "name"))
		for range rapid.IntRange(0, 4).Draw(rt, "parameters") {
			b.WriteString(rapid.SampledFrom([]string{";", "; ", ";", " ;"}).Draw(rt, "semicolon"))
			b.WriteString(rapid.SampledFrom([]string{"r", "t", "a", "w", "q", "qu", "pk", "R", "x-y", "*"}).Draw(rt, "key"))
			b.WriteString(value.Draw(rt, "value"))
		}
	}
	return b.String()
}

func TestReadList(t *testing.T) {
	fields := newRefFields()
	f := func(want string, lines ...string) {
		t.Helper()
		got := ""
		for _, m := range readList(lines) {
			got += m.name
			for _, p := range m.params {
				got += fmt.Sprintf(";%s=%d%s", p.key, p.value.number, p.value.text)
			}
			got += "|"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
		if (len(fields.members(lines)) > 0) != (want != "") {
			t.Errorf("%q: the reference finds %v", lines, fields.members(lines))
		}
	}
	f("")
	f("", "")
	f("", "  ")
	f("a|", `"a"`)
	f("a|b|", ` "a" , "b"	`)
	f("a|b|", `"a"`, `"b"`)
	f("a;r=5;t=60|", `"a";r=5;t=60`)
	f("a;r=5;t=60|", `"a"; r=5;  t=60`)
	f(`a"\;r=0|`, `"a\"\\";r`)
	f("a;x=0y;z=0|", `"a";x="y";z=tok/en:1`)
	f("a;x=0;y=0;z=0;p=0;q=0|", `"a";x=1.5;y=:aGk=:;z=?1;p=@-5;q=%"%c3%a4 "`)
	f("a;r=-5|", `"a";r=-5`)
	f("a;r=999999999999999|", `"a";r=999999999999999`)
	f("a;*x-_.9=0|", `"a";*x-_.9`)
	for _, broken := range []string{
		`"a",`, `,"a"`, `"a",,"b"`, `"a" "b"`, `"a`, `"a\`, `"a\x"`, "\"a\x00\"", `"ä"`, `a`, `5`, `("a")`, `"a" ;r=5`, `"a";`, `"a";R=5`,
		`"a";r=`, `"a";r=-`, `"a";r=1000000000000000`, `"a";r=5.`, `"a";r=.5`, `"a";r=1.2345`, `"a";r=1234567890123.5`, `"a";r=--5`,
		`"a";x=?2`, `"a";x=?`, `"a";x=:a`, `"a";x=:a b:`, `"a";x=@`, `"a";x=@1.5`, `"a";x=%`, `"a";x=%"`, `"a";x=%"%C3"`, `"a";x=%"%c`, "\"a\";x=%\"\x7f\"",
		`"a";x=(1)`, `"a";x=é`, "\t\"a\"",
	} {
		f("", broken)
	}
}

// What is longer than anything that means something is malformed.
func TestAdviceHasBounds(t *testing.T) {
	fields := newRefFields()
	f := func(stated int, wait time.Duration, status int, h http.Header) {
		t.Helper()
		a := readAdvice(status, h, today())
		if len(a.stated) != stated || a.wait != wait {
			t.Errorf("%d statements, a wait of %v; want %d, %v", len(a.stated), a.wait, stated, wait)
		}
		fields.compare(t, status, h)
	}
	list := func(n int, member string) string { return strings.Repeat(member+", ", n-1) + member }
	field := func(name, value string) http.Header { return http.Header{name: {value}} }
	const one = `"a";r=5;t=60`
	f(32, 0, 200, field("Ratelimit", list(32, one)))
	f(0, 0, 200, field("Ratelimit", list(33, one)))
	f(32, 0, 200, http.Header{"Ratelimit": slices.Repeat([]string{one}, 32)})
	f(0, 0, 200, http.Header{"Ratelimit": slices.Repeat([]string{one}, 33)})
	f(1, 0, 200, field("Ratelimit", one+strings.Repeat(";x", 30)))
	f(0, 0, 200, field("Ratelimit", one+strings.Repeat(";x", 31)))
	f(1, 0, 200, field("Ratelimit", "remaining=5, reset=3"+strings.Repeat(", x", 30)))
	f(0, 0, 200, field("Ratelimit", "remaining=5, reset=3"+strings.Repeat(", x", 31)))
	f(1, 0, 200, field("Ratelimit", one+`;x="`+strings.Repeat("x", 4096-2-len(one)-5)+`"`))
	f(0, 0, 200, field("Ratelimit", one+`;x="`+strings.Repeat("x", 4096-2-len(one)-4)+`"`))
	lasting := http.Header{"Ratelimit": {`"a";r=5`}, "Ratelimit-Policy": {list(32, `"a";w=60`)}}
	f(1, 0, 200, lasting)
	lasting["Ratelimit-Policy"] = []string{list(33, `"a";w=60`)}
	f(0, 0, 200, lasting)
	f(0, 5*time.Second, 429, http.Header{"Retry-After": slices.Repeat([]string{"5"}, 32)})
	f(0, 0, 429, http.Header{"Retry-After": slices.Repeat([]string{"5"}, 33)})
	f(0, 0, 429, field("Retry-After", "5"+strings.Repeat(" ", 4096)))
	f(32, 0, 200, http.Header{"X-Ratelimit-Remaining": slices.Repeat([]string{"5"}, 32), "X-Ratelimit-Reset": slices.Repeat([]string{"9"}, 32)})
	f(0, 0, 200, http.Header{"X-Ratelimit-Remaining": slices.Repeat([]string{"5"}, 33), "X-Ratelimit-Reset": slices.Repeat([]string{"9"}, 32)})
	f(0, 0, 200, http.Header{"X-Ratelimit-Remaining": {"5"}, "X-Ratelimit-Reset": slices.Repeat([]string{"9"}, 33)})
	f(0, 0, 429, http.Header{"Date": {"Mon, 30 Nov 2026 11:00:00 GMT" + strings.Repeat(" ", 4096)}, "Retry-After": {"Mon, 30 Nov 2026 12:00:00 GMT"}})
	f(1, 0, 200, http.Header{"Age": {"5" + strings.Repeat(" ", 4096)}, "Ratelimit": {one}})
}

// Quotas are told apart by their names, and those of one name by their order.
func TestAdviceNamesQuotas(t *testing.T) {
	long := strings.Repeat("n", 65)
	h := http.Header{
		"Ratelimit":             {`"a";r=5;t=60, "b";r=4;t=0`, `"a";r=3;t=60, "b";r=2;t=60, "` + long + `";r=1;t=60`},
		"X-Ratelimit-Remaining": {"9", "8"},
		"X-Ratelimit-Reset":     {"60", "60"},
	}
	want := []statement{
		{quotaName{"a", 0}, 5, time.Minute},
		{quotaName{"a", 1}, 3, time.Minute},
		{quotaName{"b", 1}, 2, time.Minute},
		{quotaName{long[:64], 0}, 1, time.Minute},
		{quotaName{"X-Ratelimit-Remaining", 0}, 9, time.Minute},
		{quotaName{"X-Ratelimit-Remaining", 1}, 8, time.Minute},
	}
	if got := readAdvice(200, h, today()).stated; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What is said of requests at once, and again in fields that have no unit, is no advice.
func TestAdviceOfSlots(t *testing.T) {
	h := http.Header{
		"Ratelimit":             {`"once";r=0, "b";r=5;t=60`},
		"Ratelimit-Policy":      {`"once";q=2;qu="concurrent-requests", "b";q=9;w=60`},
		"X-Ratelimit-Remaining": {"0"},
		"X-Ratelimit-Reset":     {"60"},
	}
	want := []statement{
		{quotaName{"b", 0}, 5, time.Minute},
		{quotaName{"X-Ratelimit-Remaining", 0}, 0, time.Minute}, // the application's own: slots write none
	}
	if got := readAdvice(200, h, today()).stated; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
