package decide_test

import "testing"

// S50: what is told of a name that nobody has used is what is told of one whose debt is
// over, field by field.
func TestUnknownNamesLookLikeKnownOnes(t *testing.T) {
	g := rigged(t, nil)
	for _, limit := range []string{"5/s burst 5", "100/day", "10/h fixed-window"} {
		if w := g.post("/v1/take", `{"key":"known","limit":"`+limit+`"}`); w.Code != 200 {
			t.Fatalf("%s: %d %s", limit, w.Code, w.Body)
		}
	}
	g.clock.Advance(3 * 86_400_000_000)
	for _, limit := range []string{"5/s burst 5", "100/day", "10/h fixed-window"} {
		known := g.post("/v1/take", `{"key":"known","limit":"`+limit+`","peek":true}`)
		unknown := g.post("/v1/take", `{"key":"nobody","limit":"`+limit+`","peek":true}`)
		if known.Code != unknown.Code || known.Body.String() != unknown.Body.String() {
			t.Errorf("%s: %s\nand of a name that nobody has used: %s", limit, known.Body, unknown.Body)
		}
	}
}
