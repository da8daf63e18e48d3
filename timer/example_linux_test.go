package timer_test

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/timer"
)

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

func ExampleFD() {
	fd, err := timer.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fd.Close()
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer unix.Close(ep)
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET&0xffffffff}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd.Fd(), &ev); err != nil {
		fmt.Println(err)
		return
	}

	var h timer.Heap
	t := timer.Timer{F: func(any, int64) { fmt.Println("five milliseconds later") }}
	now := monotonic()
	h.Set(&t, now+5e6)
	for {
		h.Expire(now, 100)
		when, ok := h.Next()
		if !ok {
			break
		}
		if err := fd.Arm(when, now); err != nil {
			fmt.Println(err)
			return
		}
		var evs [1]unix.EpollEvent
		unix.EpollWait(ep, evs[:], -1) // sleeps, without a timeout
		now = monotonic()
	}
	fmt.Println(fd.Settimes(), "timerfd_settime")
	// Output:
	// five milliseconds later
	// 1 timerfd_settime
}
