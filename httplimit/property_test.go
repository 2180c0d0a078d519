package httplimit_test

import (
	"net/http"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/storetest"
)

// identity is what a request is counted by: two headers, or the address of who
// lacks one of them.
type identity struct{ a, b, peer string }

// identities draws texts that run into each other when they are joined badly.
func identities() *rapid.Generator[identity] {
	text := rapid.StringMatching(`[ab:|,\x00]{0,3}`)
	peers := rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2"})
	return rapid.Custom(func(t *rapid.T) identity {
		return identity{text.Draw(t, "a"), text.Draw(t, "b"), peers.Draw(t, "peer")}
	})
}

func (i identity) request() *http.Request {
	r := from(i.peer+":1234", "GET", "/")
	r.Header["A"], r.Header["B"] = []string{i.a}, []string{i.b}
	return r
}

// of is what the identity comes down to.
func (i identity) of() identity {
	if i.a == "" || i.b == "" {
		return identity{peer: i.peer}
	}
	return identity{a: i.a, b: i.b}
}

// Requests have the same key exactly if they are of one identity, and a request
// is decided exactly as the oracle decides takes under that key.
func TestRequestsAreDecidedByIdentity(t *testing.T) {
	g := ruled(t,
		httplimit.Rule{
			Name: "pair", Limits: []string{"3/s", "5/min fixed-window"},
			Key: []httplimit.Key{httplimit.ByHeader("A"), httplimit.ByHeader("B")},
		},
		httplimit.Rule{Name: "all", Limits: []string{"20/s burst 4"}, Key: []httplimit.Key{httplimit.Everyone()}},
		httplimit.Rule{Name: "trial", Limits: []string{"1/s"}, Shadow: true},
	)
	oracle := storetest.NewOracle()
	keys := map[identity]weir.Key{}
	owners := map[weir.Key]identity{}
	rapid.Check(t, func(t *rapid.T) {
		who := identities().Draw(t, "who")
		now := g.clock.Advance(weir.Micros(rapid.Int64Range(0, 300_000).Draw(t, "wait")))
		var o weir.Outcome
		got := g.Check(who.request(), &o)
		key := o.Takes[0].Key
		if known, met := keys[who.of()]; met && known != key {
			t.Fatalf("%+v has two keys", who)
		}
		if owner, met := owners[key]; met && owner != who.of() {
			t.Fatalf("%+v has the key of %+v", who, owner)
		}
		keys[who.of()], owners[key] = key, who.of()

		allowed, want, err := oracle.Take(now, o.Takes)
		if err != nil {
			t.Fatal(err)
		}
		if got != allowed || len(want) != 4 {
			t.Fatalf("allowed %t, want %t", got, allowed)
		}
		for i, d := range o.Decisions {
			if d.Allowed != want[i].Allowed || d.Remaining != want[i].Remaining || d.RetryAfter != want[i].RetryAfter {
				t.Fatalf("%s: %+v, want %+v", o.Takes[i].Limit.Name(), d, want[i])
			}
		}
	})
}
