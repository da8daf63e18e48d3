package testenv

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Parity: what the package theirs of the standard library exports is exported
// by our package too, and nothing else. It is identical, except for the types
// in own, which have all methods and fields of theirs; one that begins with a
// plus sign is a name that only ours has. least is how many names there are to
// compare at least.
func Parity(t *testing.T, theirs, ours string, least int, own ...string) {
	t.Helper()
	Long(t) // it builds a program
	const program = "github.com/netco-go/netco/internal/testenv/testdata/parity"
	args := append([]string{"run", program, theirs, ours}, own...)
	out, err := Output(exec.Command("go", args...)) // without what the go command says of its work
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
