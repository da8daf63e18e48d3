package sync_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/sync"
)

// TestPanicNil: what ends a coroutine by panic(nil), under GODEBUG=panicnil=1,
// counts as a panic. It was taken for a Goexit.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	s, err := scheduler.New(scheduler.Options{Processors: 1, Watchdog: -1,
		OnPanic: func(scheduler.PanicInfo) {}})
	if err == nil {
		err = s.Start()
	}
	testenv.OK(t, err)
	defer s.Shutdown(t.Context())
	err = s.Run(scheduler.Spawn{Fn: func() {
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
	}})
	testenv.NoError(t, err)
}

// panicOf returns what f panics with, even if that is nil.
func panicOf(f func()) (value any) {
	defer func() { value = coroutine.Recovered(recover()) }()
	f()
	return nil
}
