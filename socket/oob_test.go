package socket_test

import (
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestUrgentData: a read stops in front of a byte sent with MSG_OOB, so it is
// short although there is more behind. Who takes that for a socket read empty
// waits for an edge that does not come.
func TestUrgentData(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for _, parked := range []bool{true, false} {
			name := p.Name + "/fresh"
			if parked {
				name = p.Name + "/parked"
			}
			t.Run(name, func(t *testing.T) {
				startLocked(t, 1)
				c, peer := withPeer(t)
				read := func() {
					got := make([]byte, 8)
					if n, err := io.ReadFull(c, got); string(got) != "beforeaf" || err != nil {
						t.Errorf("read %q, %v", got[:n], err)
					}
				}
				var reader *testrun.Task
				release := func() {}
				if parked {
					reader = p.Go(read)
					reader.UntilParked(t, coroutine.ReasonRead)
					release = hog(t, 0)
				}
				raw := testenv.Must(peer.SyscallConn())
				raw.Control(func(fd uintptr) {
					for _, m := range []struct {
						text  string
						flags int
					}{{"before", 0}, {"!", unix.MSG_OOB}, {"after", 0}} {
						if err := unix.Sendto(int(fd), []byte(m.text), m.flags, nil); err != nil {
							t.Error(err)
						}
					}
				})
				// How much is counted in front of the urgent byte differs; that
				// all has come shows in the window.
				testenv.Until(t, "the data", func() bool { return received(t, c) >= len("before!after") })
				release()
				if !parked {
					reader = p.Go(read)
				}
				reader.Wait(t)
			})
		}
	}
}

// received returns how many bytes the kernel has had from the peer.
func received(t *testing.T, c *socket.TCPConn) int {
	t.Helper()
	info := testenv.Must(unix.GetsockoptTCPInfo(c.FD(), unix.IPPROTO_TCP, unix.TCP_INFO))
	return int(info.Bytes_received)
}
