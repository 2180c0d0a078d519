package decide_test

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/memstore"
)

// small is a rig whose table has so many keys.
func small(t *testing.T, keys int) *rig {
	t.Helper()
	store, err := memstore.New(memstore.Config{MaxKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return rigged(t, store)
}

// A limit that no table of this size has room for is refused as a mistake of the one who
// brings it, with a remedy for who wrote the rules file: a table of that size takes it.
func TestTakeUnderALimitThatIsTooLarge(t *testing.T) {
	size := regexp.MustCompile(`set memory\.max_keys in the daemon's rules file to (\d+) or more, or lower the limit's count`)
	for _, limit := range []string{"30/h sliding-log", "600/h sliding-log", "4095/s sliding-log", "30/h sliding-log block 1h"} {
		_, err := served(t, small(t, 64)).Take(t.Context(), decide.TakeRequest{Key: "k", Limit: limit})
		refused, ok := errors.AsType[*decide.RefusedError](err)
		if !ok || refused.Status != http.StatusBadRequest || len(refused.Mistakes) != 1 || refused.Mistakes[0].Field != "limit" {
			t.Fatalf("%s: %#v", limit, err)
		}
		found := size.FindStringSubmatch(err.Error())
		if found == nil || strings.Contains(err.Error(), "memstore") {
			t.Fatalf("%s: %v", limit, err)
		}
		enough, _ := strconv.Atoi(found[1])
		if a, err := served(t, small(t, enough)).Take(t.Context(), decide.TakeRequest{Key: "k", Limit: limit}); err != nil || !a.Allowed {
			t.Errorf("%s, with %d keys: %v, %+v", limit, enough, err, a)
		}
	}
}

// What weir refuses with a document of its own, and without a list, is refused.
func TestClientKnowsARefusalOfWeirs(t *testing.T) {
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"type":"about:blank","title":"Bad Request","status":400,"detail":"limit 5/s: not by this store"}`))
	}))
	_, err := c.Take(t.Context(), decide.TakeRequest{Key: "k", Limit: "5/s"})
	if refused, ok := errors.AsType[*decide.RefusedError](err); !ok || refused.Error() != "weir: the daemon answers 400: limit 5/s: not by this store" {
		t.Errorf("%#v", err)
	}
}
