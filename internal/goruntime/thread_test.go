package goruntime_test

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// threadOf is goruntime.ThreadOf; its error ends the test.
func threadOf(t *testing.T, g uintptr) int {
	t.Helper()
	return testenv.Must(goruntime.ThreadOf(g))
}

// awaitThread waits until the goroutine g is on the thread want, 0 for none.
func awaitThread(t *testing.T, g uintptr, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); threadOf(t, g) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("on thread %d, want %d", threadOf(t, g), want)
		}
	}
}

// TestThreadOfRunning: a running goroutine is on the thread that gettid names.
func TestThreadOfRunning(t *testing.T) {
	threadOf(t, asm.Getg())
	const n = 8
	var begun, over sync.WaitGroup
	begun.Add(n)
	for range n {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			begun.Done()
			begun.Wait() // each has a thread of its own
			testenv.Gives(t, syscall.Gettid(), nil, "thread")(goruntime.ThreadOf(asm.Getg()))
		})
	}
	over.Wait()
}

// TestThreadOfWaiting: a goroutine that waits is on no thread, one in a system
// call on the thread that makes the call.
func TestThreadOfWaiting(t *testing.T) {
	threadOf(t, asm.Getg())
	var pipe [2]int
	testenv.OK(t, syscall.Pipe2(pipe[:], syscall.O_CLOEXEC))
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	type is struct {
		g   uintptr
		tid int
	}
	at := make(chan is, 1)
	end := make(chan struct{})
	go func() {
		defer close(end)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		at <- is{asm.Getg(), syscall.Gettid()}
		syscall.Read(pipe[0], make([]byte, 1))
		end <- struct{}{}
	}()
	it := <-at
	for range 20 { // some before it is in the call
		awaitThread(t, it.g, it.tid)
		time.Sleep(time.Millisecond)
	}
	if _, err := syscall.Write(pipe[1], []byte{1}); err != nil {
		t.Fatal(err)
	}
	awaitThread(t, it.g, 0) // in the channel, though locked to its thread
	<-end
	<-end
}
