package context_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// childVar tells a child process of the tests to print its backend.
const childVar = "NETCO_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		fmt.Printf("%s|%v|%s", context.Backend(), context.Symmetric(), context.BackendReason())
		os.Exit(0)
	}
	context.Rounds = testenv.Rounds
	testenv.Main(m)
}

// TestForcingABackend starts processes under each setting: what is chosen, and what a wrong setting says.
func TestForcingABackend(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	usual := context.BackendPortable
	if asm.Supported && goruntime.Verified() == nil {
		usual = context.BackendAsm
	}
	forced := context.BackendPortable
	if asm.Supported {
		forced = context.BackendAsm
	}
	for _, c := range []struct{ env, backend, reason, stderr string }{
		{"", usual, "", ""},
		{"portable", context.BackendPortable, "NETCO_CONTEXT=portable", ""},
		{"asm", forced, "", ""},
		{"bogus", usual, "", `netco: NETCO_CONTEXT="bogus" is neither "asm" nor "portable"; using the default` + "\n"},
		{"ASM", usual, "", `netco: NETCO_CONTEXT="ASM" is neither "asm" nor "portable"; using the default` + "\n"},
	} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childVar+"=1", context.EnvVar+"="+c.env, "GORACE=atexit_sleep_ms=0")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); errors.Is(err, syscall.ENOEXEC) {
			t.Skip("this binary runs under an emulator, which the kernel does not start for its children")
		} else if err != nil {
			t.Fatalf("%q: %v", c.env, err)
		}
		got := strings.Split(stdout.String(), "|")
		if len(got) != 3 {
			t.Fatalf("%q: output %q", c.env, stdout.String())
		}
		if got[0] != c.backend || got[1] != fmt.Sprint(c.backend == context.BackendAsm) || got[2] == "" || c.reason != "" && got[2] != c.reason {
			t.Errorf("%s=%q: backend %s, symmetric %s, %q; want %s, %q", context.EnvVar, c.env, got[0], got[1], got[2], c.backend, c.reason)
		}
		fellBack := c.env != "portable" && c.backend != context.BackendAsm // and says so, see TestFallbackSaysSo
		if stderr.String() != c.stderr && !fellBack {
			t.Errorf("%s=%q: stderr %q, want %q", context.EnvVar, c.env, stderr.String(), c.stderr)
		}
	}
}

// TestThisBackend: the one that the environment asks for.
func TestThisBackend(t *testing.T) {
	if want := os.Getenv(context.EnvVar); want != "" && want != context.Backend() && (want != context.BackendAsm || asm.Supported) {
		t.Errorf("backend %s, asked for was %s", context.Backend(), want)
	}
	if context.Symmetric() != (context.Backend() == context.BackendAsm) {
		t.Errorf("backend %s, symmetric %v", context.Backend(), context.Symmetric())
	}
}

// A generator: the context hands numbers to the loop.
func Example() {
	var loop, squares context.Context
	var n int
	squares.Init(func(*context.Context) {
		for i := 1; i <= 3; i++ {
			n = i * i
			squares.Suspend(&loop)
		}
		n = 0
		squares.Exit(&loop)
	})
	for {
		loop.Resume(&squares)
		if n == 0 {
			break
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 4
	// 9
}

func ExampleBackend() {
	known := map[string]bool{context.BackendAsm: true, context.BackendPortable: true}
	fmt.Println(known[context.Backend()], context.BackendReason() != "", runtime.GOARCH != "")
	// Output: true true true
}
