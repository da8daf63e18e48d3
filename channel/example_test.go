package channel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
)

func Example() {
	defer netco.Shutdown(context.Background())
	netco.Run(func() {
		jobs, results := channel.Make[int](0), channel.Make[string](4)
		if _, err := netco.Go(func() {
			for n := range jobs.All() {
				results.Send(fmt.Sprint(n, " squared is ", n*n))
			}
			results.Close()
		}); err != nil {
			fmt.Println(err)
			return
		}
		for n := range 3 {
			jobs.Send(n)
		}
		jobs.Close()
		for r := range results.All() {
			fmt.Println(r)
		}
	})
	// Output:
	// 0 squared is 0
	// 1 squared is 1
	// 2 squared is 4
}

func ExampleSelect() {
	defer netco.Shutdown(context.Background())
	netco.Run(func() {
		words, quit := channel.Make[string](0), channel.Make[struct{}](0)
		if _, err := netco.Go(func() {
			words.Send("hello")
			quit.Close()
		}); err != nil {
			fmt.Println(err)
			return
		}
		for {
			var word string
			switch i, err := channel.Select(words.RecvCase(&word), quit.RecvCase(nil)); i {
			case 0:
				fmt.Println(word)
			case 1:
				fmt.Println("quit:", err)
				return
			}
		}
	})
	// Output:
	// hello
	// quit: netco/channel: closed
}

func ExampleChan_RecvTimeout() {
	c := channel.Make[int](0)
	_, err := c.RecvTimeout(time.Millisecond)
	fmt.Println(err)
	// Output: i/o timeout
}
