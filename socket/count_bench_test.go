package socket_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// BenchmarkPair is a write and a read of one byte that do not wait: two system
// calls, and what is done besides. It shows what counting them costs.
func BenchmarkPair(b *testing.B) {
	start(b, 1)
	done := make(chan struct{})
	if _, err := netco.GoOn(0, func() {
		defer close(done)
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			b.Error(err)
			return
		}
		var ends [2]*socket.Socket
		for i, fd := range fds {
			if ends[i], err = socket.AdoptSocket(fd); err != nil {
				b.Error(err)
				return
			}
			defer ends[i].Close()
		}
		p := make([]byte, 1)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := ends[0].Write(p); err != nil {
				b.Error(err)
			}
			if _, err := ends[1].Read(p); err != nil {
				b.Error(err)
			}
		}
		b.StopTimer()
	}); err != nil {
		b.Fatal(err)
	}
	<-done
}

// BenchmarkCount is what counting adds to a read that waited and a write.
func BenchmarkCount(b *testing.B) {
	start(b, 1)
	testrun.First.Do(b, func() {
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			counts := processor.HereIO()
			counts.CountSavedRead()
			counts.CountRead(1, 0)
			processor.HereIO().CountWrite(1, 0)
		}
		b.StopTimer()
	})
}
