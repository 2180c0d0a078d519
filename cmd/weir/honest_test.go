//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// An honest caller sends a request every few milliseconds, and is to get 200 for
// each, soon, whatever others do.
type honest struct {
	client *http.Client
	url    string
	header http.Header

	stop context.CancelFunc
	all  sync.WaitGroup

	mu     sync.Mutex
	took   []time.Duration
	faults []string
}

// pace is how often an honest caller sends: two hundred requests a second.
const pace = 5 * time.Millisecond

// begin starts an honest caller, who ends with the test at the latest.
func (h *honest) begin(t *testing.T) *honest {
	ctx, cancel := context.WithCancel(t.Context())
	h.stop = cancel
	h.all.Go(func() { h.send(ctx) })
	t.Cleanup(func() { h.end() })
	return h
}

func (h *honest) send(ctx context.Context) {
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			h.one()
		}
	}
}

func (h *honest) one() {
	began := time.Now()
	status, err := get(h.client, h.url, h.header)
	took := time.Since(began)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, took)
	if err != nil || status != http.StatusOK {
		h.faults = append(h.faults, fmt.Sprint(status, err))
	}
}

// get sends a request, reads the whole answer, and gives its status.
func get(client *http.Client, url string, header http.Header) (int, error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if header != nil {
		r.Header = header
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// answered is how many answers the caller has had.
func (h *honest) answered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.took)
}

// end stops the caller. May be called twice.
func (h *honest) end() {
	h.stop()
	h.all.Wait()
	h.client.CloseIdleConnections()
}

// check ends the caller and says what came of it: no answer but 200, and 99 of
// 100 within the bound.
func (h *honest) check(t *testing.T, most time.Duration) string {
	t.Helper()
	const enough = 100 // for a ninety-ninth percentile
	if !within(testPatience, func() bool { return h.answered() >= enough }) {
		t.Errorf("the honest caller had %d answers in %v", h.answered(), testPatience)
	}
	h.end()
	if len(h.faults) > 0 {
		t.Errorf("the honest caller was disturbed %d times of %d: %q", len(h.faults), len(h.took), h.faults[:min(5, len(h.faults))])
	}
	slices.Sort(h.took)
	p99 := h.took[len(h.took)*99/100]
	if p99 > most {
		t.Errorf("one in a hundred honest requests took over %v, want at most %v", p99, most)
	}
	return fmt.Sprintf("%d honest requests, p50 %v, p99 %v", len(h.took), h.took[len(h.took)/2].Round(time.Microsecond), p99.Round(time.Microsecond))
}

// clientFrom is a client with one address of the loopback network. It follows no
// redirect and asks for no compression.
func clientFrom(address string, more func(*http.Transport)) *http.Client {
	tr := &http.Transport{DialContext: dialerFrom(address).DialContext, DisableCompression: true}
	if more != nil {
		more(tr)
	}
	return &http.Client{Transport: tr, Timeout: testPatience}
}
