// Package beside starts a function on what its caller runs on: a coroutine
// starts a coroutine, and a goroutine a goroutine. It is for packages whose
// names promise that the function runs in any case.
package beside

import "github.com/netco-go/netco/coroutine"

// Go calls f, and then done, on a coroutine if a coroutine calls Go and none is
// refused, and else on a goroutine. site is where the program called. Package
// netco has a part in the choice of the Processor if it is in the program.
//
// done is called however f ends, but for a panic on a goroutine, which crashes
// the program before what done releases can run. If Go panics, because of a
// Local's Inherit, done is called and f is not.
func Go(f, done func(), site uintptr) {
	if coroutine.Current() != nil {
		run := func() {
			defer done()
			f()
		}
		panics := true
		defer func() {
			if panics {
				done()
			}
		}()
		_, err := coroutine.Start(coroutine.SpawnAt(run, site))
		if panics = false; err == nil {
			return
		}
	}
	go run(f, done)
}

func run(f, done func()) {
	defer func() {
		if v := recover(); v != nil {
			panic(v) // the stack still has the frames of f
		}
		done()
	}()
	f()
}
