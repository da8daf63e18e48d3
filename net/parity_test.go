package net_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestParity: what the standard's package exports is exported here too, and
// nothing else, and the types that are not the standard's have all its methods
// and fields.
func TestParity(t *testing.T) {
	testenv.Long(t) // it builds a program
	out, err := exec.Command("go", "run", "./testdata/parity").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	differences, count, _ := strings.Cut("\n"+string(out), "\ncompared ")
	if differences != "" {
		t.Error(differences)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(count)); err != nil || n < 200 {
		t.Errorf("%q names have been compared", count)
	}
}
