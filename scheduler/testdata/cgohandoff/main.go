// Command cgohandoff blocks a coroutine in a C function, twice, until another of
// its Processor has run while it does.
package main

/*
#include <unistd.h>

static int block(int fd) {
	char c;
	while (read(fd, &c, 1) != 1) {
	}
	return c;
}
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

func main() {
	if err := run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run() error {
	s, err := scheduler.New(scheduler.Options{Processors: 1})
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		return err
	}
	counters := &engine.Of(s).Processors()[0].Coroutines().Handoffs
	for i := range 2 {
		h, err := s.Go(func() {
			for range 2 {
				if got := C.block(C.int(pipe[0])); got != C.int(i) {
					fmt.Println("C returned", got)
				}
				processor.Sleep(time.Millisecond) // it is a coroutine again
			}
		})
		if err != nil {
			return err
		}
		other, err := s.Go(func() {
			for n := range uint64(2) {
				for counters.Load() < uint64(2*i)+n+1 {
					processor.Sleep(time.Millisecond)
				}
				syscall.Write(pipe[1], []byte{byte(i)})
			}
		})
		if err != nil {
			return err
		}
		h.Join()
		other.Join()
	}
	if err := s.Shutdown(context.Background()); err != nil {
		return err
	}
	fmt.Println("handed on")
	return nil
}
