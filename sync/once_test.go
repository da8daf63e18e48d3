package sync_test

import (
	"errors"
	"fmt"
	"os"
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

// TestOnceFails: an f that panics or ends its coroutine has been done, and each
// call of an OnceValue ends as the first: with its panic, as with package sync,
// or without returning a value, which there is not.
func TestOnceFails(t *testing.T) {
	testrun.Start(t, 2)
	for name, fail := range map[string]func(){
		"panic": func() { panic("ouch") }, "panic(nil)": func() { panic(nil) },
		"error": func() { panic(os.ErrInvalid) }, "Goexit": runtime.Goexit,
	} {
		want := "<nil>"
		if name != "Goexit" {
			peer := stdsync.OnceFunc(fail)
			want = fmt.Sprint(testenv.PanicOf(peer))
		}
		var o sync.Once
		var calls atomic.Int32
		value := sync.OnceValue(func() int { calls.Add(1); fail(); return 1 })
		for range 2 {
			crowd(t, 6, func(int) {
				defer func() { testenv.Equal(t, fmt.Sprint(recover()), want, name) }()
				defer o.Do(func() { t.Error(name, "done twice") })
				testenv.PanicOf(func() { o.Do(fail) })
				t.Errorf("%s: returned %d", name, value())
			})
		}
		testenv.Equal(t, calls.Load(), 1, name, "calls")
	}
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
