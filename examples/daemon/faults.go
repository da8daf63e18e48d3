package main

import (
	"os"
	stdsync "sync"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

// What a client may provoke with -faults, so that one knows what it looks like
// before it comes by itself. docs/OPERATING.md shows it.
const (
	faultComputation byte = iota // a computation without a Yield
	// time.Sleep where netco.Sleep belongs; with -lock-threads it stalls a
	// Processor.
	faultSleep
	faultChannel // a receive from a channel of Go's
	faultMutex   // a sync.Mutex that a goroutine holds
	faultSyscall // a system call that waits
	faultPanic   // a panic
	// A mebibyte for each millisecond that was asked for, never freed.
	faultLeak
	faultFiles    // as many open files
	faultDeadlock // two coroutines that wait for one another's locks for good
	faultHold     // a wait of that length, which a drain has to wait for
)

// leak is what is never given back.
type leak struct {
	mu     stdsync.Mutex
	memory [][]byte
	files  []*os.File
}

// fault does what code in a coroutine must not do, for so long.
func (s *service) fault(kind byte, long time.Duration) error {
	n := int(long / time.Millisecond)
	switch kind {
	case faultComputation:
		for end := time.Now().Add(long); time.Now().Before(end); {
		}
	case faultSleep:
		time.Sleep(long) //netco-vet:ok the fault
	case faultChannel:
		<-time.After(long) //netco-vet:ok the fault
	case faultMutex:
		var mu stdsync.Mutex
		mu.Lock()
		time.AfterFunc(long, mu.Unlock)
		mu.Lock()
	case faultSyscall:
		for t := syscall.NsecToTimespec(int64(long)); syscall.Nanosleep(&t, &t) == syscall.EINTR; {
		}
	case faultPanic:
		panic("a fault that a client asked for")
	case faultLeak:
		return s.leaked.grow(n)
	case faultFiles:
		return s.leaked.open(n)
	case faultDeadlock:
		return deadlock()
	case faultHold:
		netco.Sleep(long)
	default:
		return refusal("there is no such fault")
	}
	return nil
}

func (l *leak) grow(n int) error {
	if n > 4096 {
		return refusal("not so much")
	}
	p := make([]byte, n*mib)
	for i := 0; i < len(p); i += 4096 {
		p[i] = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory = append(l.memory, p)
	return nil
}

func (l *leak) open(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return refusal(err.Error())
		}
		l.files = append(l.files, f)
	}
	return nil
}

// deadlock has two coroutines take two locks, each the other's first, and is
// joined by neither.
func deadlock() error {
	var a, b sync.Mutex
	var both sync.WaitGroup
	both.Add(2)
	take := func(first, second *sync.Mutex) func() {
		return func() {
			first.Lock()
			defer first.Unlock()
			both.Done()
			both.Wait()
			second.Lock()
			defer second.Unlock()
		}
	}
	_, err := netco.GoWith(netco.Spawn{Name: "deadlock a then b", Fn: take(&a, &b)})
	if err != nil {
		return err
	}
	_, err = netco.GoWith(netco.Spawn{Name: "deadlock b then a", Fn: take(&b, &a)})
	return err
}
