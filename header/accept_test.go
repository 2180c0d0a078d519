package header

import (
	"strings"
	"testing"
)

func TestTakesJSON(t *testing.T) {
	f := func(want bool, accept ...string) {
		t.Helper()
		if got := takesJSON(accept); got != want {
			t.Errorf("%q: got %v, want %v", accept, got, want)
		}
	}
	// Nothing said, or anything goes.
	f(true)
	f(true, "")
	f(true, " , ,")
	f(true, "*/*")
	f(true, "text/html, image/gif, *; q=.2, */*; q=.2") // Java's HttpURLConnection
	f(true, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	// JSON, by any of its names.
	f(true, "application/json")
	f(true, "application/problem+json")
	f(true, "APPLICATION/Problem+JSON")
	f(true, "application/vnd.api+json")
	f(true, "application/*")
	f(true, "text/plain", "application/json;charset=utf-8")
	f(true, "text/plain;q=1, application/json;q=0.001")
	f(true, "application/json ; q=1")
	f(true, `application/json;profile="a,b;q=0"`)
	f(true, `text/plain;x="\",application/json;q=0", application/json`)
	// Something else alone.
	f(false, "text/plain")
	f(false, "text/html, text/*")
	f(false, "application/xml")
	f(false, "application/problem+xml")
	f(false, "application/jsonp")
	f(false, "+json")
	f(false, "text/event-stream")
	f(false, `text/plain;x="application/json`)
	f(false, `text/plain;x="\",application/json;y="`)
	// A weight of zero excludes.
	f(false, "*/*;q=0")
	f(false, "*/*;q=0.000, text/plain")
	f(false, "application/json;Q=0.0")
	f(false, "application/json;version=1;q=0")
	f(true, "application/json;q=0.01")
	f(true, "application/json;q=.5")
	f(true, "application/json;q=nonsense")
	f(true, "application/json;q=")
	f(true, "application/json;qq=0")
	// The most specific range counts, wherever it stands.
	f(false, "application/problem+json;q=0, application/json, */*")
	f(false, "*/*, application/*;q=0")
	f(false, "application/*;q=0, */*")
	f(true, "*/*;q=0, application/json")
	f(true, "application/json", "*/*;q=0")
	f(true, "application/json;q=0, application/vnd.api+json")
	f(true, "application/vnd.api+json", "application/json;q=0")
	f(false, "application/json;q=0", "text/plain")
}

// A field as long as net/http lets through is read once from end to end.
func TestAllocationsOfAcceptOfAnyLength(t *testing.T) {
	long := []string{strings.Repeat("a/b;c=d;q=0,", 80_000) + "application/json"}
	if !takesJSON(long) {
		t.Error("the last of many ranges was not seen")
	}
	if n := testing.AllocsPerRun(1, func() { takesJSON(long) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
