package policy

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
)

func TestLargerTables(t *testing.T) {
	all := slices.Collect(largerTables(0))
	if !slices.IsSorted(all) || all[0] != 100 || all[len(all)-1] != mostKeys {
		t.Errorf("%d", all)
	}
	for _, above := range []int{99, 100, 101, defaultKeys, mostKeys - 1, mostKeys} {
		want := slices.DeleteFunc(slices.Clone(all), func(n int) bool { return n <= above })
		if got := slices.Collect(largerTables(above)); !slices.Equal(got, want) {
			t.Errorf("above %d: %d, want %d", above, got, want)
		}
	}
	field, _ := reflect.TypeFor[Memory]().FieldByName("MaxKeys")
	if most := field.Tag.Get("max"); most != strconv.Itoa(mostKeys) {
		t.Errorf("the largest table is %d, and a file may name %s", mostKeys, most)
	}
	if (Memory{}).Keys() != defaultKeys || (Memory{MaxKeys: 64}).Keys() != 64 {
		t.Error("Keys is MaxKeys, or what holds without")
	}
}
