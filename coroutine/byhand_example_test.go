package coroutine_test

import (
	"fmt"
	"sync/atomic"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
)

// A parser that is given its input piece by piece keeps its place in the middle of a loop.
func ExampleNew() {
	words := coroutine.New(func(y *coroutine.Yielder[rune, string], r rune) string {
		for {
			word := ""
			for ; r != ' ' && r != '.'; r, _ = y.Yield("") {
				word += string(r)
			}
			if r == '.' {
				return word
			}
			r, _ = y.Yield(word)
		}
	})
	for _, r := range "to be continued." {
		if word, err := words.Resume(r); err != nil {
			fmt.Println(err)
		} else if word != "" {
			fmt.Println(word)
		}
	}
	_, err := words.Resume('x')
	fmt.Println(words.Status(), err)
	// Output:
	// to
	// be
	// continued
	// dead netco: the coroutine has ended
}

// A generator that is read as far as it is wanted, by a loop, and then cancelled.
func ExampleFiber_All() {
	squares := coroutine.New(func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
		defer fmt.Println("no more")
		for i := 1; ; i++ {
			y.Yield(i * i)
		}
	})
	for n := range squares.All(struct{}{}) {
		fmt.Println(n)
		if n > 10 {
			break
		}
	}
	squares.Cancel()
	// Output:
	// 1
	// 4
	// 9
	// 16
	// no more
}

// Two players hand the ball to one another; who has resumed the first gets what the last returns.
func ExampleYielder_Transfer() {
	var ping, pong coroutine.Fiber[int, string]
	ping = coroutine.New(func(y *coroutine.Yielder[int, string], ball int) string {
		for ball < 3 {
			fmt.Println("ping", ball)
			ball, _ = y.Transfer(pong, ball+1)
		}
		return "dropped by ping"
	})
	pong = coroutine.New(func(y *coroutine.Yielder[int, string], ball int) string {
		for ball < 3 {
			fmt.Println("pong", ball)
			ball, _ = y.Transfer(ping, ball+1)
		}
		return "dropped by pong"
	})
	fmt.Println(ping.Resume(0))
	ping.Cancel()
	// Output:
	// ping 0
	// pong 1
	// ping 2
	// dropped by pong <nil>
}

// Every coroutine has a request number of its own; those it starts inherit it.
func ExampleLocal() {
	request := coroutine.NewLocal(coroutine.LocalOptions[int]{
		Inherit: func(parent *int) int { return *parent },
	})
	netco.Run(func() {
		request.Set(7)
		h, _ := netco.Go(func() { fmt.Println("child", *request.Get()) })
		h.Join()
	})
	netco.Run(func() { fmt.Println("another", *request.Get()) })
	netco.Shutdown(over())
	// Output:
	// child 7
	// another 0
}

// Counts the coroutines that live.
func ExampleAddHooks() {
	var live atomic.Int32
	remove := coroutine.AddHooks(coroutine.Hooks{
		Start: func() { live.Add(1) },
		End:   func() { live.Add(-1) },
	})
	defer remove()
	f := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
		in, _ = y.Yield(in)
		return in
	})
	fmt.Println("made", live.Load())
	f.Resume(1)
	fmt.Println("running", live.Load())
	f.Resume(2)
	fmt.Println("ended", live.Load())
	// Output:
	// made 0
	// running 1
	// ended 0
}
