package examples_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// newAPIClient is a client that keeps under an API's published limits, and waits
// up to a minute for them.
func newAPIClient(store weir.Store) (*http.Client, error) {
	limiter, err := weir.New(store,
		weir.MustLimit("api", "10/s burst 5"),
		weir.MustLimit("api/1h", "5000/h"),
	)
	if err != nil {
		return nil, err
	}
	transport, err := httplimit.NewTransport(httplimit.TransportConfig{
		Limiter: limiter,
		Retries: 2,
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// fetch puts off what was not sent.
func fetch(ctx context.Context, client *http.Client, url string, later func(time.Time)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	var notSent *httplimit.NotSentError
	if errors.As(err, &notSent) && !notSent.RetryAt.IsZero() {
		slog.Info("put off", "until", notSent.RetryAt)
		later(notSent.RetryAt)
		return nil
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// byResource tells the quotas of GitHub's API apart: searching has one of its own,
// and each token has all of them.
func byResource(r *http.Request) weir.Part {
	resource := "core"
	if strings.HasPrefix(r.URL.Path, "/search/") {
		resource = "search"
	}
	return weir.Text("github:"+resource, r.Header.Get("Authorization"))
}

// byHost sends each request through the Transport of its host: to some there are
// limits of their own.
type byHost struct {
	hosts map[string]http.RoundTripper // by names without a port
	rest  http.RoundTripper
}

func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if transport, ok := b.hosts[r.URL.Hostname()]; ok {
		return transport.RoundTrip(r)
	}
	return b.rest.RoundTrip(r)
}

func TestClientPage(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", fmt.Sprint(time.Now().Add(10*time.Minute).Unix()))
	}))
	defer api.Close()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client, err := newAPIClient(store)
	if err != nil {
		t.Fatal(err)
	}
	var until time.Time
	for range 2 {
		if err := fetch(t.Context(), client, api.URL, func(at time.Time) { until = at }); err != nil {
			t.Fatal(err)
		}
	}
	if wait := time.Until(until); asked != 1 || wait < 9*time.Minute || wait > 11*time.Minute {
		t.Errorf("%d requests, the next in %v", asked, wait)
	}

	one := httptest.NewRequest(http.MethodGet, "https://api.github.com/search/code?q=x", nil)
	other := httptest.NewRequest(http.MethodGet, "https://api.github.com/user", nil)
	if byResource(one) == byResource(other) {
		t.Error("searching and the rest are one quota")
	}
}

// newSlotsClient keeps no more requests in flight than the far side has slots.
func newSlotsClient() (*http.Client, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxConnsPerHost = 2 // as many as the far side has slots
	transport, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// Six requests at once to two slots are all answered, and none is refused.
func TestClientPageKeepsToSlots(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	far, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{Name: "flight", Limits: []string{"2 concurrent"}}}})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(far.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer api.Close()
	client, err := newSlotsClient()
	if err != nil {
		t.Fatal(err)
	}
	statuses := make(chan string, 6)
	for range cap(statuses) {
		go func() {
			res, err := client.Get(api.URL)
			if err != nil {
				statuses <- err.Error()
				return
			}
			res.Body.Close()
			statuses <- res.Status
		}()
	}
	for range cap(statuses) {
		if got := <-statuses; got != "200 OK" {
			t.Error(got)
		}
	}
}

// A host has its own limit, whatever another has. Another port is another key under it.
func TestClientPageChoosesByHost(t *testing.T) {
	base := answering{}
	under := func(limit string) http.RoundTripper {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		limiter, err := weir.New(store, weir.MustLimit("api", limit))
		if err != nil {
			t.Fatal(err)
		}
		transport, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, Limiter: limiter, FailFast: true})
		if err != nil {
			t.Fatal(err)
		}
		return transport
	}
	client := &http.Client{Transport: byHost{hosts: map[string]http.RoundTripper{"a.example": under("3/h")}, rest: under("5/h")}}
	for host, want := range map[string]int{"a.example": 3, "a.example:8443": 3, "b.example": 5, "c.example": 5} {
		got := 0
		for range 10 {
			if res, err := client.Get("https://" + host + "/"); err == nil {
				res.Body.Close()
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d passed, want %d", host, got, want)
		}
	}
}

// answering answers every request.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// Every piece of Go on the page stands above, where it is compiled and run.
func TestClientPageShowsWhatIsRun(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	program, page := read("client_test.go"), read("../docs/client.md")
	pieces := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	for _, piece := range pieces {
		if !strings.Contains(program, piece[1]) {
			t.Errorf("docs/client.md shows what examples/client_test.go has not:\n%s", piece[1])
		}
	}
	if len(pieces) < 3 {
		t.Errorf("docs/client.md has %d pieces of Go", len(pieces))
	}
}
