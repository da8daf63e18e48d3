// Command copystack is what libco's example of that name is about: very many
// coroutines at a time. libco lets coroutines take turns on one stack and
// copies what each has there out and in again, because a stack of their own
// would be 128 KiB. Here each has its own, which begins small and grows when it
// must, and is not copied at a switch. So nothing is to be set, and pointers to
// variables on it stay good.
//
//	go run . -n 1000000
//
// prints what a million of them take while they wait, some 3 GiB, and what is
// left after their end.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

func main() {
	n := flag.Int("n", 100_000, "how many coroutines")
	flag.Parse()
	if err := run(os.Stdout, *n); err != nil {
		fmt.Fprintln(os.Stderr, "copystack:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, n int) error {
	if n < 1 {
		return fmt.Errorf("-n %d: want at least 1", n)
	}
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	before, err := resident()
	if err != nil {
		return err
	}
	var arrived, gate, left sync.WaitGroup
	arrived.Add(n)
	gate.Add(1)
	began := time.Now()
	for i := range n {
		left.Add(1)
		if _, err := netco.Go(func() {
			defer left.Done()
			shallow(i, &arrived, &gate)
		}); err != nil {
			return err
		}
	}
	arrived.Wait()
	started := time.Since(began)
	waiting, err := resident()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d coroutines wait: %d MiB, %d bytes each; started in %v\n",
		n, waiting>>20, (waiting-before)/int64(n), started.Round(time.Millisecond))
	gate.Done()
	left.Wait()
	debug.FreeOSMemory()
	after, err := resident()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "after their end: %d MiB\n", after>>20)
	return nil
}

// shallow is a coroutine with little on its stack.
func shallow(id int, arrived, gate *sync.WaitGroup) {
	var mine [8]int
	for i := range mine {
		mine[i] = id * i
	}
	arrived.Done()
	gate.Wait() // where a server would wait for a request
	for i := range mine {
		if mine[i] != id*i {
			panic("a stack was not kept")
		}
	}
}

// resident returns how much of the process's memory is in RAM.
func resident() (bytes int64, err error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &bytes); err == nil {
			return bytes << 10, nil
		}
	}
	return 0, fmt.Errorf("%s: no VmRSS", f.Name())
}
