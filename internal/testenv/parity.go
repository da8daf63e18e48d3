package testenv

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Parity checks that package ours exports the same names as the standard
// library's package theirs. Their types are identical too, except for those in
// own, which have all methods and fields of theirs. A name in own with a plus
// sign in front is exported by ours only. least is the least number of names to
// compare.
func Parity(t *testing.T, theirs, ours string, least int, own ...string) {
	t.Helper()
	Long(t) // it builds a program
	const program = "github.com/netco-go/netco/internal/testenv/testdata/parity"
	args := append([]string{"run", program, theirs, ours}, own...)
	out, err := Output(exec.Command("go", args...)) // without the go command's own messages
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	differences, count, _ := strings.Cut("\n"+out, "\ncompared ")
	if differences != "" {
		t.Error(differences)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(count)); err != nil || n < least {
		t.Errorf("%q names have been compared", count)
	}
}
