package sync_test

import (
	"errors"
	"fmt"
	"runtime"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestOnceFails: an f that panics or ends its coroutine has been done.
func TestOnceFails(t *testing.T) {
	testrun.Start(t, 2)
	for name, f := range map[string]func(){"panic": func() {
		panic("ouch")
	}, "Goexit": runtime.Goexit} {
		var o sync.Once
		crowd(t, 6, func(int) {
			defer func() {
				if r := recover(); r != nil && r != "ouch" {
					t.Error(name, r)
				}
			}()
			o.Do(f)
			o.Do(func() { t.Error(name, "done twice") })
		})
		o.Do(func() { t.Error(name, "done twice") })
	}
}

// TestOnceFuncPanics: every call panics with the value of the first, as with
// package sync.
func TestOnceFuncPanics(t *testing.T) {
	testrun.Start(t, 2)
	for _, value := range []any{"ouch", errors.New("ouch"), nil} {
		calls := new(atomic.Int32)
		f := func() int { calls.Add(1); panic(value) }
		call, peer := sync.OnceValue(f), stdsync.OnceValue(f)
		want := fmt.Sprint(testenv.PanicOf(func() { peer() }))
		crowd(t, 6, func(int) {
			for range 2 {
				testenv.Equal(t, fmt.Sprint(testenv.PanicOf(func() { call() })), want)
			}
		})
		testenv.Equal(t, calls.Load(), 2, "calls")
	}
}

// TestOnceFuncGoexit: if the first call ends its coroutine every call does;
// none returns a value there is not.
func TestOnceFuncGoexit(t *testing.T) {
	testrun.Start(t, 2)
	value := sync.OnceValue(func() int { runtime.Goexit(); return 1 })
	var ended atomic.Int32
	crowd(t, 6, func(int) {
		defer ended.Add(1)
		t.Errorf("returned %d", value())
	})
	testenv.Equal(t, ended.Load(), 6)
}

func ExampleOnceValue() {
	config := sync.OnceValue(func() string {
		fmt.Println("reading") // it may park
		return "the configuration"
	})
	fmt.Println(config())
	fmt.Println(config())
	// Output:
	// reading
	// the configuration
	// the configuration
}

// TestPanicNil: what ends a coroutine by panic(nil), under GODEBUG=panicnil=1,
// counts as a panic. It was taken for a Goexit.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	testrun.StartWith(t, netco.Options{Processors: 1, OnPanic: func(netco.PanicInfo) {}})
	testrun.In(t, 0, func() {
		var failure *coroutine.PanicError
		var nilError *runtime.PanicNilError
		if _, err := sync.Async(func() (int, error) {
			panic(nil)
		}).Get(); !errors.As(err, &failure) || !errors.As(err, &nilError) {
			t.Errorf("Async: %v", err)
		}
		once := sync.OnceFunc(func() { panic(nil) })
		for range 2 {
			value := panicOf(once)
			if err, ok := value.(error); !ok || !errors.As(err, &nilError) {
				t.Errorf("OnceFunc: %v", value)
			}
		}
	})
}

// panicOf returns what f panics with, even if that is nil.
func panicOf(f func()) (value any) {
	defer func() { value = coroutine.Recovered(recover()) }()
	f()
	return nil
}
