// Command cgostall blocks a Processor in a C function until it has been told of, and prints what was told.
package main

/*
#include <unistd.h>

static void block(int fd) {
	char c;
	while (read(fd, &c, 1) != 1) {
	}
}
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/scheduler"
)

func main() {
	var last atomic.Bool
	told := make(chan scheduler.Stall, 100)
	s, err := scheduler.New(scheduler.Options{LockThreads: true, Processors: 1, Watchdog: 20 * time.Millisecond, OnStall: func(s scheduler.Stall) { told <- s }})
	if err == nil {
		err = s.Start()
	}
	var pipe [2]int
	if err == nil {
		err = syscall.Pipe(pipe[:])
	}
	if err == nil {
		_, err = s.GoWith(scheduler.Spawn{Name: "cgo", Fn: func() {
			for !last.Load() {
				callsC(pipe[0])
				coroutine.Yield()
			}
		}})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for one := range told {
		if one.Name == "cgo" && one.Cause != "not scheduled" {
			fmt.Printf("%s\n%s\n%s\n", one.Cause, one.Detail, one.Stack)
			break
		}
		if !one.Over { // found on its way into C, because others have the CPUs: once more
			syscall.Write(pipe[1], []byte{1})
		}
	}
	last.Store(true)
	syscall.Write(pipe[1], []byte{1})
	if err := s.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

//go:noinline
func callsC(fd int) { C.block(C.int(fd)) }
