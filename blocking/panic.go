package blocking

import "github.com/netco-go/netco/coroutine"

// PanicError is what a coroutine panics with when the function that was run for it did.
type PanicError = coroutine.PanicError
