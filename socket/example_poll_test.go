package socket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A coroutine that waits for two pipes at once.
func ExamplePoll() {
	defer netco.Shutdown(context.Background())
	var a, b [2]int
	unix.Pipe2(a[:], unix.O_CLOEXEC)
	unix.Pipe2(b[:], unix.O_CLOEXEC)
	defer func() {
		for _, fd := range append(a[:], b[:]...) {
			unix.Close(fd)
		}
	}()
	netco.Run(func() {
		if _, err := netco.GoLocal(func() { unix.Write(b[1], []byte("hello")) }); err != nil {
			fmt.Println(err)
			return
		}
		fds := []socket.PollFd{
			{Fd: int32(a[0]), Events: unix.POLLIN},
			{Fd: int32(b[0]), Events: unix.POLLIN},
		}
		n, err := socket.Poll(fds, time.Minute)
		fmt.Println(n, err)
		for i, f := range fds {
			if f.Revents&unix.POLLIN != 0 {
				fmt.Println("the pipe number", i)
			}
		}
	})
	// Output:
	// 1 <nil>
	// the pipe number 1
}

// A wait that somebody else may call off.
func ExamplePollContext() {
	defer netco.Shutdown(context.Background())
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC) // never set
	if err != nil {
		fmt.Println(err)
		return
	}
	defer unix.Close(timer)
	ctx, cancel := context.WithCancel(context.Background())
	netco.Run(func() {
		if _, err := netco.GoLocal(cancel); err != nil {
			fmt.Println(err)
			return
		}
		_, err := socket.PollContext(ctx, []socket.PollFd{{Fd: int32(timer), Events: unix.POLLIN}})
		fmt.Println(err)
	})
	// Output: context canceled
}

// A pipe with os's end and a coroutine's end.
func ExampleNewFile() {
	defer netco.Shutdown(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	defer w.Close()
	f, err := socket.NewFile(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		defer f.Close()
		f.SetReadDeadline(time.Now().Add(time.Millisecond))
		buf := make([]byte, 16)
		_, err := f.Read(buf) // parks
		fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))

		f.SetReadDeadline(time.Time{})
		if _, err := netco.GoLocal(func() { fmt.Fprint(w, "hello") }); err != nil {
			fmt.Println(err)
			return
		}
		n, err := f.Read(buf)
		fmt.Printf("%s %v\n", buf[:n], err)
	})
	// Output:
	// true
	// hello <nil>
}
