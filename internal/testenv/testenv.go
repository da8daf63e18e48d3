// Package testenv runs a package's tests the way netco's are run: under both context backends, and with a look at
// what they left behind.
package testenv

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/netco-go/netco/context"
)

// Main is a TestMain: it runs the tests, fails if they leaked fds, goroutines or threads, and, if no backend is forced, runs
// them once more in a child process under the portable backend. Use: func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	flag.Parse()
	runtime.GC() // whatever the runtime makes once is made before the first count
	before := Snapshot()
	code := m.Run()
	if code == 0 && !special() {
		if err := before.Leaks(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
	}
	if code == 0 && os.Getenv(context.EnvVar) == "" && context.Backend() == context.BackendAsm && !special() {
		code = again(context.BackendPortable)
	}
	os.Exit(code)
}

// special reports whether this run is of a kind that says nothing of leaks and need not be repeated.
func special() bool {
	for _, name := range []string{"test.bench", "test.fuzz", "test.list", "test.coverprofile"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return false
}

// again runs this test binary under another backend.
func again(backend string) int {
	exe, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		return 1
	}
	cmd := exec.Command(exe, os.Args[1:]...)
	cmd.Env = append(os.Environ(), context.EnvVar+"="+backend)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "testenv: under %s=%s: %v\n", context.EnvVar, backend, err)
		return 1
	}
	return 0
}

// Counts are what a process holds.
type Counts struct{ FDs, Goroutines, Threads int }

// Snapshot counts what the process holds now.
func Snapshot() Counts {
	return Counts{entries("/proc/self/fd"), runtime.NumGoroutine(), entries("/proc/self/task")}
}

func entries(dir string) int {
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(list)
}

// Threads come with the Go runtime's own needs and stay: one for each system call that ever blocked beside the others, so many on a slow machine. A thread
// that netco leaks has a goroutine locked to it, which is counted above.
const threadSlack = 40

// patience is how long what a test leaves behind may take to end: longer than a worker of package blocking that has nothing to do, and than a machine
// that others use keeps a thread waiting.
const patience = 30 * time.Second

// Leaks waits for the process to hold no more than it did, and tells what it holds on to.
func (before Counts) Leaks() error {
	var now Counts
	for end := time.Now().Add(patience); time.Now().Before(end); {
		now = Snapshot()
		if now.FDs <= before.FDs+runtimeFDs && now.Goroutines <= before.Goroutines && now.Threads <= before.Threads+threadSlack {
			return nil
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("testenv: leaked: had %+v, has %+v", before, now)
}

// runtimeFDs are those of Go's own poller, which it makes when it first needs them and keeps: an epoll fd and an eventfd.
const runtimeFDs = 2

// Until waits up to a minute for a condition that nobody announces.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// Allocs is testing.AllocsPerRun, which counts what all goroutines allocate, without what others do meanwhile: the least of up to five tries.
func Allocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for try := 1; try < 5 && least > 0; try++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
