package socket_test

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestFileListenerOptions: connections of an adopted listener have net's
// options, whatever those of the socket are. They had what they inherited: as a
// rule neither TCP_NODELAY nor keep-alive.
func TestFileListenerOptions(t *testing.T) {
	start(t, 2)
	for name, options := range map[string][][3]int{
		"none set": nil,
		"others": {{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 77},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 78}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3}},
	} {
		fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		f := os.NewFile(uintptr(fd), "a listener")
		defer f.Close()
		for _, o := range options {
			testenv.OK(t, unix.SetsockoptInt(fd, o[0], o[1], o[2]))
		}
		testenv.OK(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		testenv.OK(t, unix.Listen(fd, 10))
		theirs := testenv.Must(net.FileListener(f))
		want := acceptedOptions(t, theirs)
		theirs.Close()
		for _, p := range testrun.Places {
			p.Do(t, func() {
				ours, err := socket.FileListener(f)
				if err != nil {
					t.Error(err)
					return
				}
				if got := acceptedOptions(t, ours); got != want {
					t.Errorf("%s, %s: %v, want %v", name, p.Name, got, want)
				}
				ours.Close()
			})
		}
	}
}
