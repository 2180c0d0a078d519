package header

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/weirhq/weir"
)

// vandal does to an answer's fields whatever an application may: it appends,
// sets, deletes, writes into the slices and into the room behind them.
func vandal(h http.Header) {
	for key, values := range h {
		h.Add(key, "added")
		for i := range values {
			values[i] = "overwritten"
		}
		for i := range values[:cap(values)] {
			values[:cap(values)][i] = "behind the end"
		}
		h.Set(key, "set")
		h.Add(key, "added again")
		h.Del(key)
	}
}

// Values that are the same for all answers were once shared slices elsewhere:
// an application's Add on one answer was seen in the next caller's.
func TestAnswersAreNotCorrupted(t *testing.T) {
	w := writer(t, Config{Debug: true})
	request := ask(http.MethodPost, "Origin", "https://app.example")
	outcomes := []*weir.Outcome{allowed(t), refused(t), threeLimits(t), failed(weir.ByDeny, nil)}
	answer := func(o *weir.Outcome) http.Header {
		h := make(http.Header)
		if !o.Allowed {
			w.Refuse(nowhere{h}, request, o)
			return h
		}
		w.Write(h, o)
		w.Expose(h, request)
		return h
	}
	var want []string
	for _, o := range outcomes {
		want = append(want, lines(answer(o)))
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range 400 {
				o := i % len(outcomes)
				kept := answer(outcomes[o])
				vandal(answer(outcomes[o]))
				if got := lines(kept); got != want[o] {
					t.Errorf("got:\n%s\nwant:\n%s", got, want[o])
					return
				}
			}
		})
	}
	wait.Wait()
}

// Within one answer the fields lie side by side in one array.
func TestFieldsHaveNoRoomBehindThem(t *testing.T) {
	w := writer(t, Config{Debug: true})
	for _, before := range []http.Header{{}, full()} {
		h := before.Clone()
		w.Write(h, threeLimits(t))
		w.Expose(h, ask(http.MethodGet, "Origin", "null"))
		if len(h) < 6 {
			t.Errorf("only %d fields: %v", len(h), h)
		}
		for key, values := range h {
			if len(values) != cap(values) {
				t.Errorf("%s: room for %d more", key, cap(values)-len(values))
			}
		}
	}
	h := make(http.Header)
	w.Write(h, allowed(t))
	want := h.Clone()
	for key := range want {
		h.Add(key, "more")
		want.Add(key, "more")
	}
	same(t, lines(h), lines(want))
}

// full is a header whose slices have room behind their end.
func full() http.Header {
	line := func(s string) []string { return append(make([]string, 0, 8), s) }
	return http.Header{
		keyRateLimit: line(`"upstream";r=1;t=1`),
		keyPolicy:    slices.Repeat(line(`"upstream";q=2;w=1`), 16),
		keyLimit:     line("2"),
		keyVary:      line("Origin"),
		keyExpose:    line("X-Request-Id"),
	}
}

// The slices that stood there belong to somebody else.
func TestJoinedSlicesAreNotWrittenInto(t *testing.T) {
	h := full()
	theirs := h[keyRateLimit]
	writer(t, Config{}).Write(h, allowed(t))
	if behind := theirs[:2][1]; behind != "" {
		t.Errorf("%q was written behind the end of their slice", behind)
	}
	if want := []string{`"upstream";r=1;t=1`, `"create-job";r=4;t=1`}; !slices.Equal(h[keyRateLimit], want) {
		t.Errorf("got %q, want %q", h[keyRateLimit], want)
	}
}

// The keys are those that Get, Set and Del of an application find.
func TestKeysAreCanonical(t *testing.T) {
	w := writer(t, Config{Debug: true})
	h := make(http.Header)
	w.Refuse(nowhere{h}, ask(http.MethodGet, "Origin", "null"), refused(t))
	w.Refuse(nowhere{h}, ask(http.MethodGet), failed(weir.ByMissing, Unauthorized("", nil)))
	if len(h) != refuseFields {
		t.Errorf("%d fields, want all %d: %v", len(h), refuseFields, h)
	}
	for key := range h {
		if canonical := http.CanonicalHeaderKey(key); key != canonical {
			t.Errorf("%s: net/http looks for %s", key, canonical)
		}
	}
}

// There is room for all that Write can have to write, and for no more.
func TestWriteHasRoomForItsFields(t *testing.T) {
	h := make(http.Header)
	writer(t, Config{Debug: true}).Write(h, refused(t))
	if len(h) != writeFields {
		t.Errorf("%d fields, want all %d: %v", len(h), writeFields, h)
	}
}
