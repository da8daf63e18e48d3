package blocking_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
)

// TestPanicNil: under GODEBUG=panicnil=1 a panic(nil) is delivered as a panic.
// It was taken for a Goexit, and ended the caller.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	testrun.Start(t, 1)
	p := pool(t, 1)
	netco.Run(func() {
		defer func() {
			err, _ := recover().(error)
			if nilError := new(runtime.PanicNilError); !errors.As(err, &nilError) {
				t.Errorf("panicked with %v", err)
			}
		}()
		p.Do(bg, func() { panic(nil) })
	})
}
