// Command byhand is cloudwu/coroutine's example, and one for those who know
// higan's libco: coroutines that run when they are resumed and until they
// yield, and coroutines that pass control among themselves. No scheduler takes
// part.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/netco-go/netco/fiber"
)

func main() {
	for _, show := range []func(io.Writer) error{inTurn, inARing} {
		if err := show(os.Stdout); err != nil {
			log.Fatal("byhand: ", err)
		}
	}
}

// counter returns a coroutine that counts five numbers, from start on, one each
// time it is resumed.
func counter(start int) fiber.Fiber[struct{}, int] {
	return fiber.New(func(y *fiber.Yielder[struct{}, int], _ struct{}) int {
		for i := range 4 {
			y.Yield(start + i)
		}
		return start + 4
	})
}

// inTurn resumes two coroutines in turn until both have ended.
func inTurn(w io.Writer) error {
	fmt.Fprintln(w, "main start")
	one, two := counter(0), counter(100)
	for one.Status() != fiber.Dead || two.Status() != fiber.Dead {
		for i, co := range []fiber.Fiber[struct{}, int]{one, two} {
			n, err := co.Resume(struct{}{})
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "coroutine %d : %d\n", i, n)
		}
	}
	fmt.Fprintln(w, "main end")
	return nil
}

// inARing has three coroutines each of which passes control, and a number one
// higher, to the next. The one that gets 10 returns it, to the main program;
// the other two stay suspended, and are ended.
func inARing(w io.Writer) error {
	var ring [3]fiber.Fiber[int, int]
	for i := range ring {
		ring[i] = fiber.New(func(y *fiber.Yielder[int, int], n int) int {
			defer fmt.Fprintf(w, "coroutine %d ends\n", i)
			for n < 10 {
				fmt.Fprintf(w, "coroutine %d has %d\n", i, n)
				var err error
				if n, err = y.Transfer(ring[(i+1)%len(ring)], n+1); err != nil {
					panic(err)
				}
			}
			return n
		})
	}
	n, err := ring[0].Resume(0)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "main has", n)
	for _, co := range ring {
		if err := co.Cancel(); err != nil {
			return err
		}
	}
	return nil
}
