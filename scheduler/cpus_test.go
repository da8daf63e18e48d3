package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

func init() {
	children["cpus"] = func() {
		for range 2 { // the second Scheduler raises GOMAXPROCS no further
			s := testenv.Must(scheduler.New(scheduler.Options{}))
			testenv.MustOK(s.Start())
			fmt.Print(s.Processors(), " ", runtime.GOMAXPROCS(0), ";")
			testenv.MustOK(s.Shutdown(context.Background()))
		}
	}
}

// TestOneCPU: a process with one CPU gets one Processor, and GOMAXPROCS is 2
// unless its environment says otherwise.
func TestOneCPU(t *testing.T) {
	runtime.LockOSThread() // a child inherits its thread's CPUs
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	testenv.OK(t, unix.SchedGetaffinity(0, &all))
	one.Set(firstCPU(t))
	testenv.OK(t, unix.SchedSetaffinity(0, &one))
	defer unix.SchedSetaffinity(0, &all)
	for in, want := range map[string]string{"": "1 2;1 2;", "1": "1 1;1 1;", "3": "3 3;3 3;"} {
		cmd := children.Command(t, "cpus")
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+in)
		cmd.Stderr = os.Stderr
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("GOMAXPROCS=%q: %q, %v, want %q", in, out, err, want)
		}
	}
}
