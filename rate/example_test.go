package rate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/rate"
)

func ExampleLimiter() {
	limiter := rate.NewLimiter(rate.Every(5*time.Millisecond), 1)
	netco.Run(func() {
		start := time.Now()
		for range 4 {
			if err := limiter.Wait(context.Background()); err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println(time.Since(start) >= 15*time.Millisecond)
	})
	netco.Shutdown(context.Background())
	// Output: true
}
