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
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

func main() {
	n := flag.Int("n", 100_000, "how many coroutines")
	flag.Parse()
	if err := run(os.Stdout, max(1, *n)); err != nil {
		log.Fatal("copystack: ", err)
	}
}

func run(w io.Writer, n int) error {
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	before := memory()
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
	waiting := memory()
	fmt.Fprintf(w, "%d coroutines wait: %d MiB, %d bytes each; started in %v\n",
		n, waiting>>20, (waiting-before)/n, started.Round(time.Millisecond))
	gate.Done()
	left.Wait()
	debug.FreeOSMemory()
	fmt.Fprintf(w, "after their end: %d MiB\n", memory()>>20)
	return nil
}

// shallow is a coroutine with little on its stack.
func shallow(id int, arrived, gate *sync.WaitGroup) {
	mine := [8]int{id, ^id}
	arrived.Done()
	gate.Wait() // where a server would wait for a request
	if mine != [8]int{id, ^id} {
		panic("a stack was not kept")
	}
}

// memory returns how many bytes the Go runtime has from the system.
func memory() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys - m.HeapReleased)
}
