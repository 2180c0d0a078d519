package house

import (
	"bytes"
	"os/exec"
	"testing"
)

// mostNames is how many lines `go doc -short .` may have for the root package: a
// reader's head has room for so many names, and a new one is worth an old one.
const mostNames = 55

func TestNamesOfTheRootPackage(t *testing.T) {
	cmd := exec.Command("go", "doc", "-short", ".")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte("\n")); n > mostNames || n < mostNames/2 {
		t.Errorf("go doc -short . lists %d names, at most %d are allowed: make one a method, or move what users do not need to an internal package\n%s", n, mostNames, out)
	}
}
