package context

import (
	"fmt"
	"runtime"
	"slices"
)

// selfTest drives three contexts through every kind of switch on a locked thread and compares what ran with what
// should have: resume, suspend, transfer round a ring, an end in the home slot and ends out of order.
func selfTest() (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("self-test: %v", r)
			}
		}()
		err = ring()
	}()
	<-done
	return err
}

func ring() error {
	var (
		loop Context
		c    [3]Context
		got  []int
	)
	const rounds = 3
	for i := range c {
		c[i].Init(func(*Context) {
			for n := range rounds {
				got = append(got, 10*n+i)
				if i < 2 {
					c[i].Transfer(&c[i+1], &c[i+1])
				} else if n < rounds-1 {
					c[i].Transfer(&c[0], &c[0])
				}
			}
			c[i].Suspend(&loop)
			got = append(got, 100+i)
			c[i].Exit(&loop)
		})
	}
	loop.Resume(&c[0]) // runs the ring; the last of it suspends
	want := []int{0, 1, 2, 10, 11, 12, 20, 21, 22}
	for _, i := range []int{1, 0} { // their Transfer in the last round returns, they suspend
		loop.Resume(&c[i])
	}
	for _, i := range []int{1, 2, 0} {
		loop.Resume(&c[i])
		want = append(want, 100+i)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("self-test: ran %v, want %v", got, want)
	}
	return nil
}
