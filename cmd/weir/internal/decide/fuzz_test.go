package decide_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// documented are the statuses of docs/api.md that a POST of a body can get.
func documented(status int) bool { return slices.Contains([]int{200, 400, 413, 503}, status) }

// holds checks what every answer keeps to, and gives it if something was decided.
func holds(t *testing.T, w *httptest.ResponseRecorder, body string) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !documented(w.Code) {
		t.Fatalf("%q: %d %q %v", body, w.Code, w.Body, err)
	}
	if w.Code == 200 {
		return got
	}
	if got["status"] != float64(w.Code) || got["detail"] == "" {
		t.Fatalf("%q: %d %s", body, w.Code, w.Body)
	}
	return nil
}

// FuzzTake sends bodies to a service of which the oracle is encoding/json: what is
// taken has the fields that it finds, and nothing else.
func FuzzTake(f *testing.F) {
	for _, body := range []string{
		`{"key":"user:42","limit":"5/s burst 5","cost":1}`, `{"key":"k","limit":"unlimited","peek":true}`,
		`{"key":"\ud83d\ude00","limit":"10/month calendar Europe/Berlin"}`, `{"key":"k","key":"k","limit":"5/s"}`,
		`{"key":"\ud800","limit":"5/s"}`, `{"limit":"3 concurrent","cost":1e3}`, `[[[[[[`, `{"key":"k","limit":"deny"}{}`, ``, "\xff",
	} {
		f.Add(body)
	}
	g := rigged(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		g.t = t
		a := holds(t, g.post("/v1/take", body), body)
		if a == nil {
			return
		}
		var asked struct {
			Key, Limit string
			Cost       *int64
			Peek       bool
		}
		d := json.NewDecoder(strings.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&asked); err != nil || asked.Key == "" || asked.Cost != nil && *asked.Cost < 1 {
			t.Fatalf("%q was taken: %v, %v", body, a, err)
		}
		spec, err := weir.ParseSpec(asked.Limit)
		if err != nil || a["limit"] != "take/"+spec.Slot() {
			t.Fatalf("%q: %v, %v", body, a, err)
		}
	})
}

// FuzzCheck sends bodies that must come to the engine as they are, or not at all.
func FuzzCheck(f *testing.F) {
	for _, body := range []string{
		`{"method":"POST","host":"api.example","path":"/api/v1/jobs?x=1","headers":{"X-Api-Key":["k"],"a":"b"},"ip":"203.0.113.7","cost":1}`,
		`{"method":"GET","path":"/","query":"a"}`, `{"method":"GET","path":"/","headers":{"a":"1","A":"2"}}`, `{"ip":"::1%lo"}`,
		`{"method":"GET","path":"/","headers":{"X":"\r\nY: z"}}`, `{"method":"GET","path":"//..%2f"}`,
	} {
		f.Add(body)
	}
	g := rigged(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		g.t = t
		for _, path := range []string{"/v1/check", "/v1/explain"} {
			g.engine.asked = nil
			a := holds(t, g.post(path, body), body)
			r := g.engine.asked
			if (a != nil) != (r != nil) {
				t.Fatalf("%s %q: answered %v, asked %v", path, body, a, r)
			}
			if r == nil {
				continue
			}
			lines := 0
			for _, values := range r.Header {
				lines += len(values)
				if strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
					t.Fatalf("%q: headers %q", body, r.Header)
				}
			}
			if r.Method == "" || !strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path+r.Query+r.Host, " \r\n\x00") ||
				strings.Contains(r.Path, "?") || r.Cost < 0 || lines > 256 || r.Addr.Zone() != "" {
				t.Fatalf("%q: asked %+v", body, r)
			}
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	g := rigged(b, nil)
	run := func(name, path, body string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest("POST", path, nil)
			r.Header.Set("Content-Type", "application/json")
			for b.Loop() {
				r.Body = readCloser{strings.NewReader(body)}
				w := httptest.NewRecorder()
				if g.ServeHTTP(w, r); w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
	run("take", "/v1/take", `{"key":"user:42","limit":"5/s burst 5","cost":1}`)
	run("check", "/v1/check", `{"method":"POST","host":"api.example","path":"/api/v1/jobs","headers":{"X-Api-Key":["k"]},"ip":"203.0.113.7","cost":1}`)
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
