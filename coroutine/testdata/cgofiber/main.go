// Command cgofiber makes and resumes coroutines by hand in callbacks from C,
// which the runtime locks to their threads by itself, and prints what has gone
// wrong.
package main

/*
extern void callback(void);

static inline void call(void) { callback(); }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/netco-go/netco/coroutine"
)

var inside func()

//export callback
func callback() { inside() }

// viaC calls f by way of C.
func viaC(f func()) {
	was := inside
	inside = f
	C.call()
	inside = was
}

type fiber = coroutine.Fiber[int, int]

// count yields what it is given.
func count(y *coroutine.Yielder[int, int], in int) int {
	for {
		in, _ = y.Yield(in)
	}
}

func check(what string, f fiber, want error) {
	if _, err := f.Resume(1); !errors.Is(err, want) {
		fmt.Printf("%s: %v, want %v\n", what, err, want)
	}
	if err := f.Cancel(); !errors.Is(err, want) {
		fmt.Printf("%s: Cancel: %v, want %v\n", what, err, want)
	}
}

func made() fiber {
	f := coroutine.New(count)
	if out, err := f.Resume(7); out != 7 || err != nil {
		fmt.Println("new:", out, err)
	}
	return f
}

// end leaves a goroutine for the pool, if there is one for it.
func end() { coroutine.New(func(*coroutine.Yielder[int, int], int) int { return 0 }).Resume(0) }

func main() {
	for _, locked := range []bool{false, true} {
		if locked {
			runtime.LockOSThread()
		}
		outer, outer2 := made(), made()
		var inner, innermost fiber
		end()
		viaC(func() {
			check("made before the callback", outer, coroutine.ErrThreadLocked)
			inner = made()
			end()
			viaC(func() {
				check("made in the callback around", inner, coroutine.ErrThreadLocked)
				innermost = made()
				check("made in the inner callback", made(), nil)
				made() // and nobody has it
				end()
			})
			check("made in the callback within", innermost, coroutine.ErrThreadLocked)
			check("made in this callback", made(), nil)
			made()
			end()
		})
		check("made in a callback", inner, coroutine.ErrThreadLocked)
		made()
		check("made here", outer, nil)
		yields := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
			viaC(func() {
				if _, err := y.Yield(1); !errors.Is(err, coroutine.ErrThreadLocked) {
					fmt.Println("Yield in a callback:", err)
				}
			})
			y.Yield(2)
			return 3
		})
		if out, err := yields.Resume(0); out != 2 || err != nil {
			fmt.Println("after a refused Yield:", out, err)
		}
		for range 10 { // those that nobody has are met
			runtime.GC()
			runtime.Gosched()
			made()
			viaC(func() {
				made()
				viaC(func() { made() })
			})
		}
		check("made here, too", outer2, nil)
		check("yields", yields, nil)
	}
	fmt.Println("over")
}
