package coroutine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Recovered returns the panic that a deferred function, which calls
// Recovered(recover()), has recovered: nil if there is no panic, or a Goexit; a
// *runtime.PanicNilError for panic(nil) under GODEBUG=panicnil=1, for which
// recover returns nil as well. With nil it takes some 300 ns.
//
//go:noinline
func Recovered(value any) any {
	if value != nil {
		return value
	}
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:]) // the caller of the deferred function
	if f, _ := runtime.CallersFrames(pcs[:]).Next(); f.Function == "runtime.gopanic" {
		return new(runtime.PanicNilError)
	}
	return nil
}

// catch calls f. If f panics, it calls caught in the deferred call that has
// recovered the panic, so that the stack still shows where it arose. A Goexit
// goes on.
func catch(f func(), caught func(value any)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := Recovered(recover()); value != nil {
			caught(value)
		}
	}()
	f()
	returned = true
}

// panicked offers a panic to the host, and crashes the program if the host
// declines. It is called in the deferred call that recovered the panic, so that
// the stack still shows where it arose.
func (ex *Executor) panicked(co *Coroutine, value any) {
	stack := debug.Stack()
	ex.Stats.Panics.Inc()
	handled := false
	defer func() {
		if !handled {
			if second := Recovered(recover()); second != nil {
				crash(co, second, debug.Stack())
			}
			crash(co, value, stack)
		}
	}()
	handled = ex.host.Panicked(co, value, stack)
}

// crashed is the panic that ends the program. A panic cannot just be passed on:
// the runtime would lose it where a coroutine's goroutine ends. So it is raised
// again on a goroutine of its own, with the coroutine's stack as text.
type crashed struct{ text string }

func (c crashed) Error() string { return c.text }

// crash ends the program as an unrecovered panic does, with status 2, and shows
// the coroutine's stack. It does not return.
func crash(co *Coroutine, value any, stack []byte) {
	var b strings.Builder
	fmt.Fprint(&b, value) // it recovers a panic in an Error or String method, which would be lost
	fmt.Fprintf(&b, "\n\nin netco %s\n%s", co.title(), stack)
	go panic(crashed{b.String()})
	select {}
}

// PanicError delivers a function's panic to the caller that waits for its
// result, not to the callers on its own stack. Resume, Transfer's resumer and
// Cancel of a coroutine driven by hand panic with it; in packages sync and
// blocking the waiting caller gets it as an error, or panics with it.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // as debug.Stack gives it, from where the panic arose
}

// Error returns the value and the stack: the traceback of the panic that
// delivers it shows only the waiting caller.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%v\n\nwhere it arose:\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value if that is an error, as the runtime's are.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
