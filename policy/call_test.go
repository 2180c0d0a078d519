package policy

import (
	"reflect"
	"testing"

	"github.com/weirhq/weir"
)

// What is pooled holds nothing of a policy that may be gone, nor of a caller.
func TestEndedCallKeepsNothing(t *testing.T) {
	limit := weir.MustLimit("r", "1/h")
	c := &call{found: Finding{Outcome: &weir.Outcome{}, Applied: []Applied{{Plan: "p"}}}}
	c.work = append(c.work, work{rule: &rule{}, shown: true})
	c.vain.Takes = append(c.vain.Takes, weir.Take{Limit: limit, Key: weir.Key{1}}, weir.Take{Limit: limit})
	c.end()
	for _, take := range c.vain.Takes[:cap(c.vain.Takes)] {
		if take != (weir.Take{}) {
			t.Errorf("a take: %+v", take)
		}
	}
	if len(c.vain.Takes) > 0 || !reflect.DeepEqual(c.work[:1], []work{{}}) || c.found.Applied[:1][0] != (Applied{}) {
		t.Errorf("%+v", c)
	}
}
