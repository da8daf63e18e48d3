package context_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// children print their backend, or switch under thread locks.
var children = testenv.Children{
	"backend": func() {
		fmt.Printf("%s|%v|%s", context.Backend(), context.Direct(), context.BackendReason())
	},
	"locks": func() { lockedSwitch(os.Args[1]) },
}

func TestMain(m *testing.M) {
	if child := children.Chosen(); child != nil {
		child()
		os.Exit(0)
	}
	testenv.Main(m)
}

// TestForcingABackend: NETCO_CONTEXT selects the backend of a process, and a
// process with a wrong setting reports it.
func TestForcingABackend(t *testing.T) {
	usual := context.BackendPortable
	if goruntime.Verified() == nil {
		usual = context.BackendAsm
	}
	for _, c := range []struct{ env, backend, reason, stderr string }{
		{"", usual, "", ""},
		{"portable", context.BackendPortable, "NETCO_CONTEXT=portable", ""},
		{"asm", context.BackendAsm, "", ""},
		{"bogus", usual, "", `netco: NETCO_CONTEXT="bogus" is neither "asm" nor "portable"; using the default` + "\n"},
		{"ASM", usual, "", `netco: NETCO_CONTEXT="ASM" is neither "asm" nor "portable"; using the default` + "\n"},
	} {
		cmd := children.Command(t, "backend")
		cmd.Env = append(cmd.Env, context.EnvVar+"="+c.env)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		testenv.Emulated(t, err)
		testenv.OK(t, err)
		got := strings.Split(stdout.String(), "|")
		if len(got) != 3 {
			t.Fatalf("%q: output %q", c.env, stdout.String())
		}
		testenv.True(t, got[0] == c.backend &&
			got[1] == fmt.Sprint(c.backend == context.BackendAsm) && got[2] != "" &&
			(c.reason == "" || got[2] == c.reason), "%s=%q: backend %s, direct %s, %q; want %s, %q",
			context.EnvVar, c.env, got[0], got[1], got[2], c.backend, c.reason)
		// A process that falls back says so, see TestFallbackSaysSo.
		fellBack := c.env != "portable" && c.backend != context.BackendAsm
		testenv.True(t, stderr.String() == c.stderr || fellBack, "%s=%q: stderr %q, want %q",
			context.EnvVar, c.env, stderr.String(), c.stderr)
	}
}

// lockedSwitch makes a context while its goroutine holds LockOSThread as often
// as the first number of locks says, and switches to it under as many locks as
// the second says. A third number of 2 has another thread switch.
func lockedSwitch(locks string) {
	var made, switched, threads int
	fmt.Sscanf(locks, "%d,%d,%d", &made, &switched, &threads)
	lock := func(n int) {
		for range n {
			runtime.LockOSThread()
		}
	}
	var c context.Context
	goOn, done := make(chan bool), make(chan bool)
	run := func() {
		c.Resume(&c)
		fmt.Print("and back")
		close(done)
	}
	go func() {
		lock(made)
		c.Init(func(*context.Context) { fmt.Print("switched ") })
		if threads > 1 {
			close(goOn)
			<-done // keeps the thread busy
			return
		}
		for range made {
			runtime.UnlockOSThread()
		}
		lock(switched)
		run()
	}()
	if threads > 1 {
		<-goOn
		lock(switched)
		run()
	}
	<-done
}

// TestThreadLocks: a switch succeeds under as many thread locks as the context
// was made under. Under any other number the runtime ends the process and says
// why.
func TestThreadLocks(t *testing.T) {
	for locks, fits := range map[string]bool{
		"0,0": true, "1,1": true, "3,3": true, "0,0,2": true,
		"0,1": false, "1,0": false, "1,2": false, "1,1,2": false, "1,0,2": false,
	} {
		cmd := children.Command(t, "locks", locks)
		cmd.Env = append(cmd.Env, "GOTRACEBACK=none")
		out, err := cmd.CombinedOutput()
		testenv.Emulated(t, err)
		switch text := string(out); {
		case fits && (err != nil || !strings.HasSuffix(text, "switched and back")):
			t.Errorf("%s: %v\n%.2000s", locks, err, text)
		case !fits && (err == nil || strings.Contains(text, "switched") ||
			!strings.Contains(text, "OS thread locking must match")):
			t.Errorf("%s: %v\n%.2000s", locks, err, text)
		}
	}
}

// TestThisBackend: this process runs on the backend that its environment asks
// for.
func TestThisBackend(t *testing.T) {
	if want := os.Getenv(context.EnvVar); want != "" && want != context.Backend() {
		t.Errorf("backend %s, asked for was %s", context.Backend(), want)
	}
	if context.Direct() != (context.Backend() == context.BackendAsm) {
		t.Errorf("backend %s, direct %v", context.Backend(), context.Direct())
	}
}

// TestBackendIsRecorded: go test does not return a cached result under one
// backend for the other. A test that makes a context or asks for the backend
// reads NETCO_CONTEXT after package testing has begun the log of what it reads,
// not at init only.
func TestBackendIsRecorded(t *testing.T) {
	for _, test := range []string{"Example", "ExampleBackend"} {
		log := filepath.Join(t.TempDir(), "log")
		out, err := exec.Command(testenv.Must(os.Executable()), "-test.run=^"+test+"$",
			"-test.testlogfile="+log).CombinedOutput()
		testenv.Emulated(t, err)
		if err != nil {
			t.Fatalf("%s: %v\n%s", test, err, out)
		}
		read := string(testenv.Must(os.ReadFile(log)))
		testenv.True(t, strings.Contains(read, "\ngetenv "+context.EnvVar+"\n"),
			"%s: the log is %q", test, read)
	}
}

// A generator: the context hands numbers to whatever resumes it.
func Example() {
	var squares context.Context
	var n int
	squares.Init(func(*context.Context) {
		for i := 1; i <= 3; i++ {
			n = i * i
			squares.Suspend()
		}
		n = 0
	})
	for squares.Resume(&squares); n != 0; squares.Resume(&squares) {
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
