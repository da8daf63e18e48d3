package blocking

import "fmt"

// PanicError is what a coroutine panics with when the function that was run for it did.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the goroutine where it happened, as of debug.Stack
}

// Error returns the panic's value and the stack: the traceback of the coroutine that panics with it shows only who called.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%v\n\nin a function run by package blocking\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value if that is an error, as the runtime's are.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
