package fiber_test

import (
	"fmt"

	"github.com/netco-go/netco/fiber"
)

// A parser that is given its input piece by piece keeps its place in the middle
// of a loop.
func ExampleNew() {
	words := fiber.New(func(y *fiber.Yielder[rune, string], r rune) string {
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

// A generator that is read as far as it is wanted, by a loop, and then
// cancelled.
func ExampleFiber_All() {
	squares := fiber.New(func(y *fiber.Yielder[struct{}, int], _ struct{}) int {
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

// Two players pass the ball to one another; the resumer of the first gets what
// the last returns.
func ExampleYielder_Transfer() {
	var ping, pong fiber.Fiber[int, string]
	ping = fiber.New(func(y *fiber.Yielder[int, string], ball int) string {
		for ball < 3 {
			fmt.Println("ping", ball)
			ball, _ = y.Transfer(pong, ball+1)
		}
		return "dropped by ping"
	})
	pong = fiber.New(func(y *fiber.Yielder[int, string], ball int) string {
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
