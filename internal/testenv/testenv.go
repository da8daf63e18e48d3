// Package testenv runs a package's tests: it checks that they leak nothing, and
// scales their length by the environment.
package testenv

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Main is a TestMain: it runs the tests, and fails if they leaked fds,
// goroutines or threads.
// Use: func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	Parallel()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	runtime.GC() // whatever the runtime makes once is made before the first count
	before := Snapshot()
	code = m.Run()
	if code == 0 && !special() {
		// Package testing lowers GOMAXPROCS where a Scheduler has raised it. Go
		// 1.25 to 1.27 keep a lost P's queue of cleanups until the P is back.
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
		if err := before.Leaks(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
	}
	return code
}

// Parallel lets more tests run at once that have called T.Parallel than there
// are CPUs, unless the command line says how many: those tests mostly wait. For
// a TestMain that does not call Main.
func Parallel() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "8")
	}
}

// special reports whether this run is of a kind in which leaks cannot be
// judged.
func special() bool {
	for _, name := range []string{"test.bench", "test.fuzz", "test.list", "test.coverprofile"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return false
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

// Threads come with the Go runtime's own needs and stay: one for each system
// call that ever blocked beside the others, so many on a slow machine. A thread
// that netco leaks has a goroutine locked to it, which is counted above.
const threadSlack = 40

// patience is how long what a test leaves behind may take to end: longer than a
// machine that others use keeps a thread waiting.
const patience = 30 * time.Second

// Leaks waits for the process to hold no more than it did, and returns what it
// still holds. Idle workers of package blocking do not count: they end by
// themselves up to ten seconds later, which package blocking tests.
func (c Counts) Leaks() error {
	var now Counts
	for end := time.Now().Add(patience); time.Now().Before(end); {
		now = Snapshot()
		if now.Goroutines > c.Goroutines {
			now.Goroutines -= len(idleWorker.FindAll(Stacks(), -1))
		}
		if now.FDs <= c.FDs+runtimeFDs && now.Goroutines <= c.Goroutines &&
			now.Threads <= c.Threads+threadSlack {
			return nil
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("testenv: leaked: had %+v, has %+v: %q", c, now, opened())
}

// idleWorker matches the top of the stack of a worker of package blocking that
// runs no call.
var idleWorker = regexp.MustCompile(
	`(?m)^goroutine \d+ .*\n.*/blocking\.\(\*worker\)\.main\(`)

// runtimeFDs are those of Go's own poller, which it makes when it first needs
// them and keeps: an epoll fd and an eventfd.
const runtimeFDs = 2

// Allocs is testing.AllocsPerRun, which counts what all goroutines allocate,
// without what others do meanwhile: the least of up to five tries.
func Allocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for try := 1; try < 5 && least > 0; try++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// opened returns what the process has open.
func opened() (all []string) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, fd := range list {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil { // or it has just been closed
			all = append(all, to)
		}
	}
	return all
}

// Files returns how many fds are open, but for epoll's and eventfds: those of
// the poller of goroutines come and go by themselves. So does a file that the C
// library opens for a new thread: wait with Until for as few as before.
func Files() (n int) {
	for _, to := range opened() {
		if to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" {
			n++
		}
	}
	return n
}

// Sockets returns how many sockets are open. Unlike pipes, which the collector
// closes in some later test, these are a test's own.
func Sockets() (n int) {
	for _, to := range opened() {
		if strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// Unread counts the bytes that the process has not read of connections to a
// port of its own, and the connections that it has not accepted there.
func Unread(port int) (n int) {
	for fd := range 1000 {
		at, err := unix.Getsockname(fd)
		if here, ok := at.(*unix.SockaddrInet4); err != nil || !ok || here.Port != port {
			continue
		}
		if bytes, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err == nil {
			n += bytes
			continue
		}
		// A listener has no bytes.
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n += int(info.Unacked)
		}
	}
	return n
}
