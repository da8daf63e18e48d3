package blocking_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
)

func ExampleDo() {
	defer netco.Shutdown(context.Background())
	netco.Run(func() {
		notified := make(chan struct{})
		if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			fmt.Println("others run meanwhile")
			close(notified)
		}}); err != nil {
			fmt.Println(err)
			return
		}
		// It blocks its goroutine, and no thread of netco's.
		err := blocking.Do(context.Background(), func() { <-notified })
		fmt.Println("done,", err)
	})
	// Output:
	// others run meanwhile
	// done, <nil>
}

func ExampleCall() {
	defer netco.Shutdown(context.Background())
	netco.Run(func() {
		_, err := blocking.Call(context.Background(), func() ([]byte, error) {
			return os.ReadFile("/no/such/file")
		})
		fmt.Println(err)
	})
	// Output: open /no/such/file: no such file or directory
}

func ExampleCall_context() {
	defer netco.Shutdown(context.Background())
	netco.Run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, err := blocking.Call(ctx, func() (string, error) {
			<-ctx.Done() // a database driver would take the context
			return "", ctx.Err()
		})
		fmt.Println(err)
	})
	// Output: context deadline exceeded
}

// A library that does not bear more than two calls at once gets a pool of its
// own.
func ExamplePool() {
	defer netco.Shutdown(context.Background())
	var library blocking.Pool
	if err := library.SetLimit(2); err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		for range 10 {
			if _, err := netco.Go(func() {
				library.Do(context.Background(), func() { time.Sleep(time.Millisecond) })
			}); err != nil {
				fmt.Println(err)
			}
		}
	})
	fmt.Println(library.Stats().Done, "calls")
	// Output: 10 calls
}

func ExamplePanicError() {
	defer netco.Shutdown(context.Background())
	netco.Run(func() {
		defer func() {
			var e *netco.PanicError
			if err, ok := recover().(error); ok && errors.As(err, &e) {
				fmt.Println("the function panicked:", e.Value)
			}
		}()
		blocking.Do(context.Background(), func() { panic("no such page") })
	})
	// Output: the function panicked: no such page
}
