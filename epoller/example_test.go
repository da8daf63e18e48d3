package epoller_test

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/epoller"
)

// A loop that waits for events of a socket and for other threads that ring.
func Example() {
	type conn struct{ name string }
	e, err := epoller.Open[conn]()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		0)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := e.Register(fds[0], &conn{"left"})
	if err != nil {
		fmt.Println(err)
		return
	}
	unix.Write(fds[1], []byte("hello"))

	e.Asleep()     // from here on others ring,
	n := e.Poll()  // so look for work once more before Wait
	fmt.Println(n) // 1: there is some
	fmt.Println(e.Ring(), e.Ring())
	e.Awake()
	for i := range n {
		if c, events := e.Event(i); c != nil {
			fmt.Println(c.name, events.Readable(), events.Writable())
		}
	}

	e.Release(r) // before the fd is closed
	unix.Close(fds[0])
	unix.Close(fds[1])
	// Output:
	// 1
	// true false
	// left true true
}
