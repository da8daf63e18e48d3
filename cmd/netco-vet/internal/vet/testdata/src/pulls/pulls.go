package pulls

import (
	"iter"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

func lines(b *socket.Buffered) iter.Seq2[string, error] { // want lines:`returns\(waits\)`
	return func(yield func(string, error) bool) {
		for {
			line, err := b.ReadLine()
			if !yield(string(line), err) {
				return
			}
		}
	}
}

func squares(yield func(int) bool) { // want squares:"calls"
	for i := 0; yield(i * i); i++ {
	}
}

func pull(b *socket.Buffered) { // want pull:"pull,waits"
	next, stop := iter.Pull2(lines(b)) // want `iter.Pull of a sequence that does socket.Buffered.ReadLine in a coroutine: the wait is a goroutine's, blocks the Processor, and Stop does not reach it; range over the sequence`
	defer stop()
	next()
	iter.Pull(squares)
	iter.Pull(func(yield func(int) bool) { netco.Sleep(1) }) // want `iter.Pull of a sequence that does netco.Sleep`
	for range lines(b) {
		return
	}
}

func start(b *socket.Buffered) error {
	_, err := netco.Go(func() { pull(b) })
	return err
}
