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

// Parallel lets more tests that have called T.Parallel run at once than there
// are CPUs, since those tests mostly wait; the command line can override it. It
// is for a TestMain that does not call Main.
func Parallel() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "8")
	}
}

// special reports whether this is a kind of run that cannot judge leaks.
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

// Snapshot counts what the process holds.
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

// The Go runtime starts threads as it needs them and keeps them: as many as
// system calls ever blocked at once, which are many on a slow machine. A thread
// that netco leaks has a goroutine locked to it, and Counts has that goroutine.
const threadSlack = 40

// patience is how long a test's fds and goroutines may take to end: longer than
// a busy machine keeps a thread waiting.
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

// runtimeFDs is the number of fds of Go's own poller, an epoll fd and an
// eventfd, which it makes at the first need and keeps.
const runtimeFDs = 2

// Allocs is testing.AllocsPerRun, but leaves out the allocations of other
// goroutines meanwhile: it is the least of up to five tries.
func Allocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for try := 1; try < 5 && least > 0; try++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// opened returns the targets of the process's fds.
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

// Files returns the number of open fds without epoll fds and eventfds, as those
// of the goroutine poller come and go by themselves. A file that the C library
// opens for a new thread does too, so wait with Until for the earlier number.
func Files() (n int) {
	for _, to := range opened() {
		if to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" {
			n++
		}
	}
	return n
}

// Sockets returns the number of open sockets. All of these are the test's own,
// unlike pipes, which the collector may close in a later test.
func Sockets() (n int) {
	for _, to := range opened() {
		if strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// Unread counts the unread bytes in connections to a port of the process, and
// the connections that it has not accepted there.
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
