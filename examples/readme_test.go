package examples_test

import (
	"os"
	"strings"
	"testing"
)

// The program in the README is the one in quickstart, which is built with
// everything else.
func TestReadmeShowsTheQuickstart(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	program := read("quickstart/main.go")
	program = program[strings.Index(program, "package main"):]
	if !strings.Contains(read("../README.md"), "```go\n"+program+"```") {
		t.Error("README.md does not show examples/quickstart/main.go as it is, from its package line on")
	}
}
