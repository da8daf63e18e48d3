// Package beside starts a function as its caller runs: a coroutine starts a
// coroutine, a goroutine a goroutine. It is for packages whose names promise
// that the function runs in any case.
package beside

import "github.com/netco-go/netco/coroutine"

// Go calls f, and then done, on a new coroutine if a coroutine calls Go and the
// start is not refused, else on a new goroutine. site is the place of the
// program's call. Package netco, if linked, chooses the Processor.
//
// done is called however f ends, except by a panic on a goroutine: the program
// crashes first. If Go panics, because of a Local's Inherit, done is called and
// f is not.
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
