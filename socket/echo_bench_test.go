package socket_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/socket"

	"github.com/netco-go/netco/internal/testrun"
)

// BenchmarkEcho is one message to a coroutine of its own for each connection
// and back, on one thread. The client is a coroutine that makes system calls
// and nothing else: it writes to all connections, ends its turn, and reads from
// all.
//
// It needs no other thread, so the instructions of a message can be counted:
//
//	go test -c ./socket
//	export GODEBUG=asyncpreemptoff=1
//	valgrind --tool=callgrind ./socket.test -test.run '^$' \
//		-test.bench Echo/64 -test.benchtime 2048x
//
// and once more with 12288x; the difference is that of 10,240 messages.
func BenchmarkEcho(b *testing.B) {
	for _, conns := range []int{1, 64, 1000} {
		b.Run(fmt.Sprint(conns), func(b *testing.B) {
			testrun.Start(b, 1)
			l := listen(b)
			var fds []int
			var servers []*testrun.Task
			for range conns {
				fds = append(fds, rawClient(b, l))
				c, err := l.AcceptTCP()
				if err != nil {
					b.Fatal(err)
				}
				servers = append(servers, testrun.First.Go(func() { echoBorrowed(c) }))
			}
			testrun.First.Go(func() {
				b.ResetTimer()
				for n := b.N; n > 0; n -= len(fds) {
					exchangeRaw(b, fds[:min(n, len(fds))])
				}
				b.StopTimer()
			}).Wait(b)
			for _, fd := range fds {
				unix.Shutdown(fd, unix.SHUT_WR)
			}
			for _, s := range servers {
				s.Wait(b)
			}
		})
	}
}

// exchangeRaw sends a message on each connection and waits for the answers.
func exchangeRaw(b *testing.B, fds []int) {
	var message [64]byte
	for _, fd := range fds {
		if _, errno := sysx.TrySend(fd, message[:]); errno != 0 {
			b.Error(errno)
		}
	}
	for _, fd := range fds {
		_, _, errno := sysx.TryRecv(fd, message[:])
		for ; errno == unix.EAGAIN; _, _, errno = sysx.TryRecv(fd, message[:]) {
			coroutine.YieldTurn()
		}
		if errno != 0 {
			b.Error(errno)
		}
	}
}

// echoBorrowed echoes until the end of the stream.
func echoBorrowed(c *socket.TCPConn) {
	defer c.Close()
	for answerBorrowed(c) == nil {
	}
}
