package socket_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// Libraries connect, read and write on goroutines of their own, and make who
// called them wait for these in a Go channel. If that is a coroutine, its
// Processor stands still meanwhile. The goroutine must get on all the same.

// echoNet is an echo server of package net's.
func echoNet(t *testing.T) string {
	t.Helper()
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func answered(c net.Conn, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		return fmt.Errorf("%q came back, %w", got, err)
	}
	return nil
}

// TestCoroutineWaitsForGoroutine: a coroutine that blocks its Processor until a
// goroutine has dialled and been answered is not waited for by that goroutine
// in turn.
func TestCoroutineWaitsForGoroutine(t *testing.T) {
	address := echoNet(t)
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint(n, " Processors"), func(t *testing.T) {
			start(t, n)
			var tasks []*testrun.Task
			for i := range n { // all of them are held up
				tasks = append(tasks, testrun.On(i).Go(func() {
					done := make(chan error)
					go func() {
						c, err := netco.Dial("tcp", address)
						if err == nil {
							err = answered(c, "hello")
							c.Close()
						}
						done <- err
					}()
					if err := <-done; err != nil {
						t.Error(err)
					}
				}))
			}
			testrun.WaitAll(t, tasks...)
		})
	}
}

// TestGoroutineTakesOver: the same with a connection that the coroutine has
// used, and uses again.
func TestGoroutineTakesOver(t *testing.T) {
	address := echoNet(t)
	start(t, 1)
	testrun.First.Do(t, func() {
		c, err := netco.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for i := range 20 {
			if err := answered(c, fmt.Sprint("coroutine ", i)); err != nil {
				t.Error(err)
			}
			done := make(chan error)
			go func() { done <- answered(c, fmt.Sprint("goroutine ", i)) }()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestGoroutineAccepts: goroutines serve while every Processor is held up.
func TestGoroutineAccepts(t *testing.T) {
	startLocked(t, 2)
	l := listen(t)
	k := testrun.Goroutine.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go echo(c)
		}
	})
	k.UntilParked(t, 0)
	let, letOther := hog(t, 0), hog(t, 1)
	for range 3 {
		c := testenv.Must(net.Dial("tcp", l.Addr().String()))
		if err := answered(c, "hello"); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	let()
	letOther()
	l.Close()
	k.Wait(t)
	testenv.Until(t, "all to be closed", func() bool { return socket.Open() == 0 })
}
