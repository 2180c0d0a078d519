package weir_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// What is wrong about a number of slots is one mistake, and its remedy is accepted.
func TestSlotsThatAreWrong(t *testing.T) {
	f := func(text, value, problem, want string) {
		t.Helper()
		e := one(t, text)
		if e.Value != value || !strings.Contains(e.Problem, problem) {
			t.Errorf("%q: got %q: %s; want %q: %s", text, e.Value, e.Problem, value, problem)
		}
		followed(t, text, e, want)
	}
	const plain, leased = "5 concurrent", "5 concurrent lease 30s"

	const behind = "unknown word after the count"
	for _, name := range []string{
		"conc", "concurent", "concurrrent", "Concurrent", "concurrency", "concurrently", "in-flight", "in flight", "inflight", "In-Flight",
		"parallel", "in parallel", "simultaneous", "simultaneously", "at once", "at a time", "slots", "max concurrent",
		"requests in flight", "parallel requests", "concurrency requests", "requests concurrent",
		"connections", "conns", "Connections at once", "concurrency connections", "sessions", "workers",
	} {
		f("5 "+name, name, behind, plain)
		f("5\t"+name+" lease 30s", name, behind, leased)
	}

	const first = "a limit begins with its count"
	for _, name := range []string{"concurrent 5", "concurrent: 5", "concurrent:5", "concurrent=5", "concurrency 5", "in-flight 5", "max concurrent 5", "slots 5"} {
		f(name, name, first, plain)
		f(" "+name+" lease 30s", name, first, leased)
	}
	f("concurrent", "concurrent", first, "10 concurrent")
	f("concurrent lease 30s", "concurrent", first, "10 concurrent lease 30s")
	f("concurrent 99999", "concurrent 99999", first, "4095 concurrent")
	f("concurrent 0", "concurrent 0", first, "10 concurrent")
	f("5concurrent", "5concurrent", "no space behind the count", plain)
	f("5-in-flight lease 30s", "5-in-flight", "no space behind the count", leased)
	for _, tied := range []string{"5/concurrent", "5x concurrent", "5 x concurrent", "5xconcurrent", "5 / concurrent", "5 per concurrent", "5/in flight"} {
		f(tied+" lease 30s", tied, "no space behind the count", leased)
	}

	for _, late := range []string{"5 lease 30s concurrent", "5 lease 30s", "5 lease 30 seconds conc", "5 lease 30sec in flight"} {
		f(late, late, `"concurrent" stands directly behind a number`, leased)
	}
	f("5/min lease 30s concurrent", "5/min lease 30s concurrent", "a limit is a rate or a number of slots", leased)
	f("5/min lease soon concurrent", "5/min lease soon concurrent", "a limit is a rate or a number of slots", plain)

	const rate = "a limit is a rate or a number of slots"
	f("5/min concurrent", "5/min concurrent", rate, plain)
	f("5 per 30s concurrent lease 30s", "5 per 30s concurrent", rate, leased)
	f("5/min burst 3 block 10m in flight", "5/min burst 3 block 10m in flight", rate, plain)
	f("5 req/min concurrent", "5 req/min concurrent", rate, plain)
	f("5/m concurrent", "5/m concurrent", rate, plain)
	f("5000/s concurrent", "5000/s concurrent", rate, "4095 concurrent")
	f("0.5/s concurrent", "0.5/s concurrent", rate, "10 concurrent")

	for _, span := range []string{"30s", "30 s", "30 seconds", "30sec", "timeout 30s", "for 30s", "ttl 30 sec", "leese 30s", "lease: 30s", "lease=30s", "timeout=30s", "lease= 30s", "lease:30s", "ttl:30s", "lease30s", "lease=30 seconds", "lease:30sec", "30s lease", "30 seconds lease"} {
		f("5 concurrent "+span, span, "a ", leased)
	}

	for _, option := range []string{
		"burst 3", "burst", "overdraft 9", "overdraft x9", "queue 4", "wait 2s", "wait 2 seconds", "wait soon", "spread", "calendar Europe/Berlin", "calendar",
		"token-bucket", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket",
		"block 10m", "block 10 minutes", "block", "block 10m x 2 max 1h", "block 10m x 2",
	} {
		f("5 concurrent "+option, option, "a concurrent limit has only a lease", plain)
		f("5 concurrent "+option+" lease 30s", option, "a concurrent limit has only a lease", leased)
		f("5 concurrent lease 30s "+option, option, "a concurrent limit has only a lease", leased)
	}
	f("5 concurrent x 2 max 1h", "x 2 max 1h", "only a lease", plain)
	f("5 concurrent per 1m", "per 1m", "only a lease", plain)
	f("5 concurrent per 2 minutes lease 30s", "per 2 minutes", "only a lease", leased)
	for _, word := range []string{"requests", "bust 3", "fixed", "30", "burst=3", "concurrent", "lease=soon", "burst 3 block 10m fixed 30s", "100 5m"} {
		f("5 concurrent "+word, word, "only a lease", plain)
	}
	f("5 concurrent lease 30s 40s", "40s", "only a lease", leased)
}

// Several mistakes about slots are told at once, and the remedies, followed from the last
// to the first, leave nothing to be told.
func TestSlotsThatAreWrongTwice(t *testing.T) {
	for text, want := range map[string]string{
		"5 conc block 10m":                         "5 concurrent",
		"concurrent 5 burst 3 30s":                 "5 concurrent",
		"5/min concurrent block 10m":               "5 concurrent",
		"5 concurrent 30s burst 3 block 10m fixed": "5 concurrent lease 30s",
	} {
		_, err := weir.ParseLimit("a", text)
		list, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatalf("%q: got %v, want several errors", text, err)
		}
		followed := text
		for _, one := range slices.Backward(list.Unwrap()) {
			e, _ := errors.AsType[*weir.FieldError](one)
			followed = follow(t, followed, e)
		}
		if l, err := weir.ParseLimit("a", followed); err != nil || l.String() != want {
			t.Errorf("%q, followed, is %q: %v; want %q", text, followed, err, want)
		}
	}
}
