package netco_test

import (
	"context"
	"fmt"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
)

func ExampleAfter() {
	netco.Run(func() {
		answer := channel.Make[string](0) // no coroutine answers
		var text string
		switch i, _ := channel.Select(answer.RecvCase(&text),
			netco.After(5*time.Millisecond).RecvCase(nil)); i {
		case 0:
			fmt.Println(text)
		case 1:
			fmt.Println("too slow")
		}
	})
	netco.Shutdown(context.Background())
	// Output: too slow
}

func ExampleAfterFunc() {
	netco.Run(func() {
		done := channel.Make[int](0)
		netco.AfterFunc(5*time.Millisecond, func() {
			fmt.Println("in a coroutine:", netco.Self().ID() != 0)
			done.Close()
		})
		never := netco.AfterFunc(time.Hour, func() { fmt.Println("an hour later") })
		done.Recv()
		fmt.Println(never.Stop(), never.Stop())
	})
	netco.Shutdown(context.Background())
	// Output:
	// in a coroutine: true
	// true false
}

func ExampleNewTimer() {
	netco.Run(func() {
		idle := netco.NewTimer(time.Hour)
		for range 3 {
			idle.Reset(time.Millisecond) // nothing of the time before is received any more
			idle.C.Recv()
			fmt.Println("nothing has happened for a while")
		}
	})
	netco.Shutdown(context.Background())
	// Output:
	// nothing has happened for a while
	// nothing has happened for a while
	// nothing has happened for a while
}

func ExampleNewTicker() {
	netco.Run(func() {
		ticker := netco.NewTicker(2 * time.Millisecond)
		n := 0
		for range ticker.C.All() {
			if n++; n == 3 {
				break
			}
		}
		fmt.Println(n, "ticks")
	})
	netco.Shutdown(context.Background())
	// Output: 3 ticks
}
