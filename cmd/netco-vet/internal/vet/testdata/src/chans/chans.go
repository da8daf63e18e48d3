package chans

import "github.com/netco-go/netco"

func selects(a, b chan int) { // want selects:"chan"
	select { // want `select in a coroutine: .*; use channel.Select`
	case v := <-a:
		_ = v
	case b <- 1:
	}
	select {
	case <-a:
	default:
	}
}

func start(a, b chan int) (int, error) { // want start:"chan"
	if _, err := netco.Go(func() { selects(a, b) }); err != nil {
		return 0, err
	}
	result := make(chan int, 1)
	_, err := netco.Go(func() { result <- 1 }) // always has room
	if err != nil {
		return 0, err
	}
	for range 3 {
		full := make(chan int, 1)
		_, err = netco.Go(func() {
			for range 3 {
				full <- 1 // want `send to a Go channel`
			}
		})
	}
	return <-result, err
}
