package outbox_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/outbox"
)

// sink takes everything at once.
type sink struct{ net.Conn }

func (sink) LocalAddr() net.Addr         { return addr("tcp") }
func (sink) Write(p []byte) (int, error) { return len(p), nil }
func (sink) WriteBuffers(v *net.Buffers) (n int64, err error) {
	for _, p := range *v {
		n += int64(len(p))
	}
	return n, nil
}

// BenchmarkBroadcast is messages to many connections, until all writers have
// ended, without the system calls.
func BenchmarkBroadcast(b *testing.B) {
	for _, burst := range []int{1, 10} {
		b.Run(fmt.Sprint(burst), func(b *testing.B) {
			testrun.Start(b, 1)
			b.ReportAllocs()
			testrun.In(b, 0, func() { broadcast(b, burst) })
		})
	}
}

func broadcast(b *testing.B, burst int) {
	const conns = 1000
	var all []*outbox.Outbox
	for range conns {
		all = append(all, outbox.New(sink{}, outbox.Options{}).Vectors(sink{}))
	}
	m := make([]byte, 100)
	for b.Loop() {
		for range burst {
			for _, out := range all {
				if err := out.Send(m); err != nil {
					b.Fatal(err)
				}
			}
		}
		for _, out := range all {
			for out.Stats().Queued > 0 {
				netco.Yield()
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*conns), "ns/conn")
}
