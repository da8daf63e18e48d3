package timer_test

import (
	"fmt"

	"github.com/netco-go/netco/timer"
)

// A connection with a timeout in it: nothing is allocated when the timeout is
// set or cancelled.
type conn struct {
	name    string
	timeout timer.Timer
}

func onTimeout(arg any, now int64) {
	fmt.Println(now, arg.(*conn).name, "timed out")
}

func ExampleHeap() {
	var h timer.Heap
	var a, b conn
	for c, name := range map[*conn]string{&a: "a", &b: "b"} {
		c.name = name
		c.timeout.F, c.timeout.Arg = onTimeout, c
	}
	h.Set(&a.timeout, 30)
	h.Set(&b.timeout, 20)
	h.Set(&b.timeout, 50) // b sent something

	next, _ := h.Next()
	fmt.Println("sleep until", next)
	h.Expire(35, 0)
	fmt.Println("cancelled", h.Cancel(&a.timeout), h.Cancel(&b.timeout))
	// Output:
	// sleep until 30
	// 35 a timed out
	// cancelled false true
}
