package scheduler_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

func init() {
	children["watched, busy"] = func() { watched(300*time.Millisecond, true) }
	children["watched, idle"] = func() { watched(100*time.Millisecond, false) }
	children["connected"] = func() { connections(0) }
	children["connected, with deadlines"] = func() { connections(time.Hour) }
}

// watched is a child with a watchdog. It prints a line for each stall, and
// stalls when it is sent a line.
func watched(threshold time.Duration, busy bool) {
	again := make(chan int, 1)
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 2, LockThreads: true,
		Watchdog: threshold, OnStall: func(s scheduler.Stall) {
			if s.Over {
				return
			}
			fmt.Printf("stall %q %d\n", s.Name, s.Length.Milliseconds())
			if s.Processor == 1 && s.Name == "" { // reported before "real" has begun
				select {
				case again <- 1:
				default:
				}
			}
		}}))
	testenv.MustOK(s.Start())
	stop := false // owner: the first Processor
	if busy {
		s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Name: "busy", Fn: func() {
			for !stop {
				fmt.Println("computing")
				useCPU(engine.Of(s).Processors()[0], 250*time.Millisecond)
				coroutine.Yield()
			}
		}})
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	hold := make(chan int)
	s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(1), Name: "real", Fn: func() {
		for {
			select {
			case <-hold:
				return
			case <-again:
				coroutine.Yield() // the next turn stalls
			}
		}
	}})
	in.Scan()
	close(hold)
	s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() { stop = true }})
	testenv.MustOK(s.Shutdown(context.Background()))
	fmt.Println("ended")
}

// useCPU keeps its thread for so much of CPU time.
func useCPU(p *processor.Processor, d time.Duration) {
	begin, _ := p.CPUNs()
	for now := begin; now-begin < int64(d); now, _ = p.CPUNs() {
	}
}

// connections is a child with 200 connections. A coroutine of each waits to
// read, no longer than limit if that is not 0. When the child is sent a line it
// has each of them read something.
func connections(limit time.Duration) {
	s := testenv.Must(scheduler.New(scheduler.Options{}))
	testenv.MustOK(s.Start())
	var peers [200]int
	var reading sync.WaitGroup
	for i := range peers {
		fds := testenv.Must(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))
		testenv.MustOK(syscall.SetNonblock(fds[0], true))
		c := testenv.Must(socket.FileFromFD(uintptr(fds[0]), ""))
		peers[i] = fds[1]
		reading.Add(1)
		s.Go(func() {
			for {
				if limit != 0 {
					c.SetReadDeadline(time.Now().Add(limit))
				}
				reading.Done()
				testenv.Must(c.Read(make([]byte, 1)))
			}
		})
	}
	reading.Wait()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		reading.Add(len(peers))
		for _, fd := range peers {
			testenv.Must(syscall.Write(fd, []byte{1}))
		}
		reading.Wait()
		fmt.Println("read")
	}
}

// process is a child that goes on while the test looks at it.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out chan string
}

// launch starts a child and waits until it is ready.
func launch(t *testing.T, name string) *process {
	t.Helper()
	p := &process{cmd: children.Command(t, name), out: make(chan string, 1000)}
	p.cmd.Stderr = os.Stderr
	p.in = testenv.Must(p.cmd.StdinPipe())
	out := testenv.Must(p.cmd.StdoutPipe())
	testenv.OK(t, p.cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(p.out)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.out <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-ended
		p.cmd.Wait()
	})
	p.until(t, "ready", nil)
	return p
}

// until reads lines up to one with that beginning, and gives the others to f.
func (p *process) until(t *testing.T, begin string, f func(line string)) {
	t.Helper()
	for limit := time.After(patience); ; {
		select {
		case line, ok := <-p.out:
			switch {
			case strings.HasPrefix(line, begin):
				return
			case !ok:
				t.Fatalf("the child ended before it said %q", begin)
			case f != nil:
				f(line)
			}
		case <-limit:
			t.Fatalf("waited for %q in vain", begin)
		}
	}
}

// finish has the child stall, waits until it says so, and ends it.
func (p *process) finish(t *testing.T, f func(line string)) {
	t.Helper()
	fmt.Fprintln(p.in, "stall")
	p.until(t, `stall "real"`, f)
	fmt.Fprintln(p.in, "end")
	p.until(t, "ended", f)
}

// TestStoppedProcess: a process that was stopped for a second, in the middle of
// a turn that takes 250 ms, has not stalled. Later stalls are reported.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	p := launch(t, "watched, busy")
	p.until(t, "computing", nil)
	testenv.OK(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(time.Second) // this is what is tested
	continued := time.Now()
	testenv.OK(t, p.cmd.Process.Signal(syscall.SIGCONT))
	p.finish(t, func(line string) {
		if !strings.HasPrefix(line, "stall") {
			return
		}
		// Later reports may be right: with the CPUs busy, 250 ms of CPU time
		// take long.
		fields := strings.Fields(line)
		ms, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil || ms > 900 && time.Since(continued) < 300*time.Millisecond {
			t.Errorf("the child says %q %v after it was let go on", line, time.Since(continued))
		}
	})
}

// TestIdleCostsNothing: when all Processors have been asleep for a second, no
// thread of the process runs. A stall after that is reported all the same.
func TestIdleCostsNothing(t *testing.T) {
	t.Parallel()
	p := launch(t, "watched, idle")
	p.idles(t, 0, time.Second, func() {})
	p.finish(t, nil)
}

// TestIdleConnectionsCostNothing: no thread runs while coroutines wait to read.
// A watchdog that kept checking for deadlocks would do so after one second,
// two, four, and so on.
func TestIdleConnectionsCostNothing(t *testing.T) {
	for _, child := range []string{"connected", "connected, with deadlines"} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			p := launch(t, child)
			p.idles(t, 1500*time.Millisecond, 3*time.Second, func() {
				fmt.Fprintln(p.in, "read")
				p.until(t, "read", nil)
			})
		})
	}
}

// idles waits until no thread of the process runs for length, which begins a
// while after work. It repeats that, since a busy machine delays threads.
func (p *process) idles(t *testing.T, after, length time.Duration, work func()) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		work()
		time.Sleep(after)
		before := switches(t, p.cmd.Process.Pid)
		time.Sleep(length) // this is what is tested
		n := switches(t, p.cmd.Process.Pid) - before
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d context switches in %v, and never none", n, length)
		}
	}
}

// switches counts the context switches of all threads of a process.
func switches(t *testing.T, pid int) (n int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Fatal("no threads: ", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok &&
				strings.HasSuffix(name, "voluntary_ctxt_switches") {
				k := testenv.Must(strconv.Atoi(strings.TrimSpace(value)))
				n += k
			}
		}
	}
	return n
}
