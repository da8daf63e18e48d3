package socket_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

func init() { children["no permission"] = withoutPermission }

// TestPermissionDenied: what a user may not do is refused as net refuses it.
// Root may do everything, so a child does it that has given that up.
func TestPermissionDenied(t *testing.T) {
	dir, err := os.MkdirTemp("", "netco")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The child must be able to come to dir, but neither make anything there
	// nor use what is.
	locked := filepath.Join(dir, "locked")
	testenv.OK(t, os.Mkdir(locked, 0o700))
	for _, name := range []string{filepath.Join(locked, "s"), filepath.Join(dir, "s")} {
		testenv.Closing(t, testenv.Must(net.Listen("unix", name)))
	}
	testenv.OK(t, os.Chmod(filepath.Join(dir, "s"), 0))
	mode := os.FileMode(0o755)
	if os.Geteuid() != 0 {
		mode = 0o500 // the child will own it
		os.Chmod(locked, 0)
		defer os.Chmod(locked, 0o700)
	}
	testenv.OK(t, os.Chmod(dir, mode))
	defer os.Chmod(dir, 0o700)
	out, err := testenv.Output(children.Command(t, "no permission", dir))
	if why, no := strings.CutPrefix(out, "still root: "); no && err == nil {
		t.Skip("root cannot be given up here: ", why)
	}
	if err != nil || out != "refused" {
		t.Errorf("%v\n%.3000s", err, out)
	}
}

// withoutPermission is the child.
func withoutPermission() {
	const nobody = 65534
	if os.Geteuid() == 0 {
		for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)} {
			if err != nil { // as in a container that has no other users
				fmt.Print("still root: ", err)
				return
			}
		}
	}
	testenv.MustOK(netco.Start(netco.Options{Processors: 2}))
	dir := os.Args[1]
	refused := 0
	both := func(what string, ours, theirs func() (closer, error)) {
		closeIt := func(c closer, err error) string {
			if err == nil {
				c.Close()
				return "no error"
			}
			var all strings.Builder
			for x := err; x != nil; {
				fmt.Fprintf(&all, "%T %v; ", x, x)
				u, ok := x.(interface{ Unwrap() error })
				if !ok {
					break
				}
				x = u.Unwrap()
			}
			return all.String()
		}
		want := closeIt(theirs())
		fds := testenv.Files()
		if got := closeIt(ours()); got != want {
			testenv.Fatal(what, "\ngot ", got, "\nwant", want)
		}
		if n := testenv.Files(); n > fds {
			testenv.Fatal(what, "fds", n, "before", fds)
		}
		if strings.Contains(want, "denied") || strings.Contains(want, "not permitted") {
			refused++
		}
	}
	everything := func() {
		for _, name := range []string{"locked/s", "locked/new", "s", "new", "locked"} {
			for _, network := range []string{"unix", "unixpacket"} {
				name := filepath.Join(dir, name)
				both("Listen "+name,
					func() (closer, error) { return opened(socket.Listen(network, name)) },
					func() (closer, error) { return opened(net.Listen(network, name)) })
				both("Dial "+name,
					func() (closer, error) { return opened(socket.Dial(network, name)) },
					func() (closer, error) { return opened(net.Dial(network, name)) })
			}
			name := filepath.Join(dir, name)
			both("ListenPacket "+name,
				func() (closer, error) { return opened(socket.ListenPacket("unixgram", name)) },
				func() (closer, error) { return opened(net.ListenPacket("unixgram", name)) })
		}
		// refused where such ports are privileged
		for _, address := range []string{"127.0.0.1:1", "[::1]:1"} {
			both("Listen "+address,
				func() (closer, error) { return opened(socket.Listen("tcp", address)) },
				func() (closer, error) { return opened(net.Listen("tcp", address)) })
			both("ListenPacket "+address,
				func() (closer, error) { return opened(socket.ListenPacket("udp", address)) },
				func() (closer, error) { return opened(net.ListenPacket("udp", address)) })
		}
		both("Dial to broadcast",
			func() (closer, error) { return opened(socket.Dial("udp", "255.255.255.255:9")) },
			func() (closer, error) { return opened(net.Dial("udp", "255.255.255.255:9")) })
		if _, err := socket.NewSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP); err == nil ||
			err.Error() != "socket socket: socket: operation not permitted" {
			testenv.Fatal("NewSocket:", err)
		}
	}
	for _, p := range testrun.Places {
		done := make(chan struct{})
		p.Run(func() {
			defer close(done)
			everything()
		})
		<-done
	}
	if refused < 10*len(testrun.Places) {
		testenv.Fatal("only", refused, "were refused")
	}
	fmt.Print("refused")
}
