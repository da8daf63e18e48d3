package outbox_test

import (
	"bufio"
	"context"
	"fmt"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/outbox"
)

// A publisher sends to all subscribers, and waits for none.
func Example() {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		subscribers := map[*outbox.Outbox]bool{} // of the coroutines of one Processor
		publish := func(message []byte) {
			for out := range subscribers {
				out.Send(message)
			}
		}
		_, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			for range 3 {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				subscribers[outbox.New(c, outbox.Options{Policy: outbox.DropOldest})] = true
			}
			publish([]byte("news\n"))
			for out := range subscribers {
				out.Close()
			}
		}})
		if err != nil {
			fmt.Println(err)
			return
		}
		for range 3 {
			c, err := netco.Dial("tcp", ln.Addr().String())
			if err != nil {
				fmt.Println(err)
				return
			}
			defer c.Close()
			defer func() {
				line, err := bufio.NewReader(c).ReadString('\n')
				fmt.Printf("%q %v\n", line, err)
			}()
		}
	})
	ln.Close()
	netco.Shutdown(context.Background())
	// Output:
	// "news\n" <nil>
	// "news\n" <nil>
	// "news\n" <nil>
}
