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
	"syscall"
	"time"

	"github.com/netco-go/netco/scheduler"
)

func main() {
	told := make(chan scheduler.Stall, 100)
	s, err := scheduler.New(scheduler.Options{Processors: 1, Watchdog: 20 * time.Millisecond, OnStall: func(s scheduler.Stall) { told <- s }})
	if err == nil {
		err = s.Start()
	}
	var pipe [2]int
	if err == nil {
		err = syscall.Pipe(pipe[:])
	}
	if err == nil {
		_, err = s.Go(scheduler.Spawn{Name: "cgo", Fn: func() { callsC(pipe[0]) }})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for one := range told {
		if one.Name == "cgo" {
			fmt.Printf("%s\n%s\n%s\n", one.Cause, one.Detail, one.Stack)
			break
		}
	}
	syscall.Write(pipe[1], []byte{1})
	if err := s.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

//go:noinline
func callsC(fd int) { C.block(C.int(fd)) }
