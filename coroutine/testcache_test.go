package coroutine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/testenv"
)

// userTest is a test package of a user's.
const userTest = `package user

import (
	"os"
	"testing"

	"github.com/netco-go/netco/coroutine"
)

func Test(t *testing.T) {
	os.Getenv("NETCO_TEST_SALT") // go test takes the result of an earlier run of this test for another's
	f := coroutine.New(func(y *coroutine.Yielder[int, int], x int) int { return x })
	if v, err := f.Resume(7); v != 7 || err != nil {
		t.Fatal(v, err)
	}
}
`

// TestBackendIsRecorded: go test does not return a cached result under one
// backend for the other: NETCO_CONTEXT is read after package testing has begun
// to record what a test reads, not at init only.
func TestBackendIsRecorded(t *testing.T) {
	testenv.Long(t) // it builds a test four times or more
	if os.Getenv(context.EnvVar) == context.BackendPortable {
		t.Skip("it runs both backends itself")
	}
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	if _, err := os.Stat("fiber.go"); err != nil {
		t.Skip("not in the source tree: ", err)
	}
	dir, err := filepath.Abs(".")
	testenv.OK(t, err)
	root, user := filepath.Dir(dir), t.TempDir()
	for name, content := range map[string]string{
		"go.work":      "go 1.25.0\n\nuse (\n\t.\n\t" + strconv.Quote(root) + "\n)\n",
		"go.mod":       "module example.com/user\n\ngo 1.25.0\n",
		"user_test.go": userTest,
	} {
		testenv.OK(t, os.WriteFile(filepath.Join(user, name), []byte(content), 0o600))
	}
	salt := fmt.Sprint(time.Now().UnixNano())
	for _, run := range []struct {
		backend string
		cached  bool
	}{{context.BackendPortable, false}, {context.BackendAsm, false},
		{context.BackendPortable, true}} {
		cmd := exec.Command(gotool, "test", "-vet=off", ".")
		cmd.Dir = user
		cmd.Env = append(os.Environ(), context.EnvVar+"="+run.backend, "NETCO_TEST_SALT="+salt,
			"GOWORK=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", run.backend, err, out)
		}
		if cached := strings.Contains(string(out), "(cached)"); cached != run.cached {
			t.Errorf("%s: cached %v, want %v\n%s", run.backend, cached, run.cached, out)
		}
	}
}
