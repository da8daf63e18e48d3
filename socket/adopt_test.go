package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

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
		"others": {{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 77},
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
				ours := testenv.Must(socket.FileListener(f))
				testenv.Equal(t, acceptedOptions(t, ours), want, name, p.Name)
				ours.Close()
			})
		}
	}
}

func init() {
	children["activated"] = activated
}

// TestFileConns: what is adopted is of net's type and has its addresses, for
// every family and type that net has, and works.
func TestFileConns(t *testing.T) {
	start(t, 2)
	tcp, _ := netPair(t)
	udpTo, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udpTo.Close()
	udp := testenv.Closing(t, testenv.Must(net.Dial("udp", udpTo.LocalAddr().String())))
	tcpL := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	unixL := listenUnix(t, "unix")
	stream, _ := unixPair(t, "unix")
	packet, _ := unixPair(t, "unixpacket")
	gram, _ := unixPair(t, "unixgram")
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	files := map[string]*os.File{"a pipe": pipe}
	for name, c := range map[string]interface{ File() (*os.File, error) }{
		"tcp": tcp, "udp with a peer": udp.(*net.UDPConn), "udp": udpTo.(*net.UDPConn),
		"tcp listener":  tcpL.(*net.TCPListener),
		"unix listener": unixL, "unix": stream, "unixpacket": packet, "unixgram": gram,
	} {
		f := testenv.Closing(t, testenv.Must(c.File()))
		files[name] = f
	}
	for name, kind := range map[string][2]int{"netlink": {unix.AF_NETLINK, unix.SOCK_RAW},
		"raw ip": {unix.AF_INET, unix.SOCK_RAW}} {
		fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			files[name] = os.NewFile(uintptr(fd), name)
			defer files[name].Close()
		}
	}
	closed := testenv.Must(os.CreateTemp(t.TempDir(), ""))
	closed.Close()
	files["a closed file"] = closed
	open, fds := socket.OpenCount(), testenv.Files()
	for name, f := range files {
		for _, p := range testrun.Places {
			p.Do(t, func() {
				compare := func(what string, ours, theirs any, err, want error) {
					what = fmt.Sprintf("%s: %s of %s", p.Name, what, name)
					if name == "raw ip" { // is net's IPConn
						want = &net.OpError{Op: "file", Net: "file+net", Addr: fileName(f.Name()),
							Err: syscall.EPROTONOSUPPORT}
						if what := strings.Contains(what, "Listener"); what {
							return
						}
					}
					if err == nil && want == nil {
						o := strings.ReplaceAll(fmt.Sprintf("%T", ours), "socket.", "net.")
						if n := fmt.Sprintf("%T", theirs); o != n {
							t.Errorf("%s is a %s, want %s", what, o, n)
						}
					} else {
						g, w := fmt.Sprintf("%v %v", err, errors.Is(err, errnoOf(want))),
							fmt.Sprintf("%v %v", want, want != nil)
						testenv.Equal(t, g, w, what)
					}
					for _, c := range []any{ours, theirs} {
						if c, ok := c.(closer); ok && c != nil {
							c.Close()
						}
					}
				}
				c, err := socket.FileConn(f)
				nc, want := net.FileConn(f)
				if err == nil && want == nil {
					if o, n := fmt.Sprint(c.LocalAddr(), c.RemoteAddr()), fmt.Sprint(nc.LocalAddr(),
						nc.RemoteAddr()); o != n {
						t.Errorf("%s: %s has the addresses %s, want %s", p.Name, name, o, n)
					}
				}
				compare("FileConn", c, nc, err, want)
				l, err := socket.FileListener(f)
				nl, want := net.FileListener(f)
				compare("FileListener", l, nl, err, want)
				pc, err := socket.FilePacketConn(f)
				npc, want := net.FilePacketConn(f)
				compare("FilePacketConn", pc, npc, err, want)
			})
		}
	}
	// the collector may have closed some
	if n, f := socket.OpenCount(), testenv.Files(); n != open || f > fds {
		t.Errorf("%d sockets and %d fds open, before %d and %d", n, f, open, fds)
	}
}

// fileName is the address in net's errors about files.
type fileName string

func (fileName) Network() string  { return "file+net" }
func (a fileName) String() string { return string(a) }

func errnoOf(err error) error {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// TestFileConnWorks: a connection that was a file's echoes, a listener that was
// a file's accepts.
func TestFileConnWorks(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		nl := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		f := testenv.Closing(t, testenv.Must(nl.(*net.TCPListener).File()))
		l := testenv.Closing(t, testenv.Must(socket.FileListener(f)))
		server := p.Go(func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fc, err := c.(*socket.TCPConn).File()
			if err != nil {
				t.Error(err)
				return
			}
			again, err := socket.FileConn(fc)
			fc.Close()
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
			echo(again.(*socket.TCPConn))
		})
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", nl.Addr().String())))
		c.SetDeadline(time.Now().Add(limit))
		c.Write([]byte("hello"))
		c.(*net.TCPConn).CloseWrite()
		testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(c)))
		server.Wait(t)
	})
}

// TestActivation runs a child that is started as systemd starts a service, well
// or badly.
func TestActivation(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0")))
	conn, _ := netPair(t)
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", unixName(t, "s"))))
	gram := testenv.Closing(t,
		testenv.Must(net.ListenPacket("unixgram", "@netco-test-"+fmt.Sprint(os.Getpid()))))
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer w.Close()
	var files []*os.File
	for _, c := range []interface{ File() (*os.File, error) }{tcp.(*net.TCPListener),
		udp.(*net.UDPConn), conn, ul.(*net.UnixListener), gram.(*net.UnixConn)} {
		f := testenv.Closing(t, testenv.Must(c.File()))
		files = append(files, f)
	}
	files = append(files, w)
	all := fmt.Sprint("a Listener ", tcp.Addr(), "; b PacketConn ", udp.LocalAddr(), "; c Conn ",
		conn.RemoteAddr(),
		"; d Listener ", ul.Addr(), ";  PacketConn ", gram.LocalAddr(), "; f File pipe; ")
	for _, c := range []struct {
		name  string
		env   []string
		files int
		want  string // of the child's output
	}{
		{"all kinds", []string{"LISTEN_FDS=6", "LISTEN_PID=self", "LISTEN_FDNAMES=a:b:c:d::f"},
			6, all},
		{"a parent that knows no pid", []string{"LISTEN_FDS=1", "LISTEN_FDNAMES=a"}, 1,
			fmt.Sprint("a Listener ", tcp.Addr(), "; ")},
		{"no names", []string{"LISTEN_FDS=1", "LISTEN_PID=self"}, 1,
			fmt.Sprint("unknown Listener ", tcp.Addr(), "; ")},
		{"nothing", nil, 0, ""},
		{"for another", []string{"LISTEN_FDS=1", "LISTEN_PID=1"}, 1, ""},
		{"none", []string{"LISTEN_FDS=0", "LISTEN_PID=self"}, 0, ""},
		{"no number", []string{"LISTEN_FDS=some", "LISTEN_PID=self"}, 1, `LISTEN_FDS is "some"`},
		{"less than none", []string{"LISTEN_FDS=-1", "LISTEN_PID=self"}, 1, `LISTEN_FDS is "-1"`},
		{"too large a number", []string{"LISTEN_FDS=99999999999999999999", "LISTEN_PID=self"}, 1,
			`LISTEN_FDS is "9999`},
		// 3, the first fd, added to this number made a loop over no fds, and
		// then a slice of that length.
		{"the largest int", []string{"LISTEN_FDS=9223372036854775807", "LISTEN_PID=self"}, 1,
			`LISTEN_FDS is "9223372036854775807", want a number of fds`},
		{"more than there are fds", []string{"LISTEN_FDS=2147483645", "LISTEN_PID=self"}, 1,
			`LISTEN_FDS is "2147483645", want a number of fds`},
		{"as many as there are fds", []string{"LISTEN_FDS=2147483644", "LISTEN_PID=self"}, 2,
			"LISTEN_FDS is 2147483644, but fd 5 was not handed over"},
		{"a sign", []string{"LISTEN_FDS=+1", "LISTEN_PID=self"}, 1, `LISTEN_FDS is "+1"`},
		{"a space", []string{"LISTEN_FDS= 1", "LISTEN_PID=self"}, 1, `LISTEN_FDS is " 1"`},
		{"too large a pid", []string{"LISTEN_FDS=1", "LISTEN_PID=9223372036854775807"}, 1,
			`LISTEN_PID is "9223372036854775807"`},
		{"pid 0", []string{"LISTEN_FDS=1", "LISTEN_PID=0"}, 1, `LISTEN_PID is "0"`},
		{"a pid with a sign", []string{"LISTEN_FDS=1", "LISTEN_PID=-1"}, 1, `LISTEN_PID is "-1"`},
		{"a name that no fd has", []string{"LISTEN_FDS=1", "LISTEN_PID=self",
			"LISTEN_FDNAMES=a\nb"}, 1, `LISTEN_FDNAMES has the name "a\nb"`},
		{"too long a name", []string{"LISTEN_FDS=1", "LISTEN_PID=self", "LISTEN_FDNAMES=" +
			strings.Repeat("x", 256)}, 1, "LISTEN_FDNAMES has the name \"xxx"},
		{"names for none", []string{"LISTEN_FDS=0", "LISTEN_PID=self", "LISTEN_FDNAMES=a"}, 0,
			`LISTEN_FDNAMES is "a", 1 names for LISTEN_FDS=0`},
		{"no pid", []string{"LISTEN_FDS=1", "LISTEN_PID=me"}, 1, `LISTEN_PID is "me"`},
		{"too few fds", []string{"LISTEN_FDS=3", "LISTEN_PID=self"}, 2,
			"LISTEN_FDS is 3, but fd 5 was not handed over: fcntl: bad file descriptor"},
		{"far too few fds", []string{"LISTEN_FDS=1000000000", "LISTEN_PID=self"}, 2,
			"LISTEN_FDS is 1000000000, but fd 5 was not handed over"},
		{"too few names", []string{"LISTEN_FDS=2", "LISTEN_PID=self", "LISTEN_FDNAMES=a"}, 2,
			`LISTEN_FDNAMES is "a", 1 names for LISTEN_FDS=2`},
		{"too many names", []string{"LISTEN_FDS=1", "LISTEN_PID=self", "LISTEN_FDNAMES=a:b"}, 1,
			"2 names for LISTEN_FDS=1"},
	} {
		cmd := children.Command(t, "activated")
		cmd.Env = append(cmd.Env, c.env...)
		cmd.ExtraFiles = files[:c.files]
		if strings.Contains(strings.Join(c.env, " "), "LISTEN_PID=self") {
			// A shell that becomes the child has its pid.
			sh := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", cmd.Path)
			sh.Env, sh.ExtraFiles = cmd.Env, cmd.ExtraFiles
			cmd = sh
		}
		out, err := cmd.CombinedOutput()
		switch {
		case err != nil:
			t.Errorf("%s: %v %s", c.name, err, out)
		case strings.Contains(c.want, "LISTEN"):
			if !strings.Contains(string(out), c.want) {
				t.Errorf("%s: %s, want %s", c.name, out, c.want)
			}
		case string(out) != c.want:
			t.Errorf("%s: %s, want %s", c.name, out, c.want)
		}
	}
	{
		w.Close()
		testenv.Gives(t, "from f", nil, "through the pipe came")(testenv.AsText(io.ReadAll(pipe)))
	}
}

// activated returns what it was started with.
func activated() {
	before := testenv.Files()
	all, err := socket.Activation()
	if err != nil {
		fmt.Print(err)
		if n := testenv.Files(); n > before {
			testenv.Fatal("it opened ", n-before)
		}
		if socket.OpenCount() != 0 {
			testenv.Fatal("sockets are open")
		}
		return
	}
	for i := range all {
		a := &all[i]
		fd := uintptr(3 + i)
		if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil ||
			flags&unix.FD_CLOEXEC == 0 {
			testenv.Fatal("fd", fd, "is not closed on exec", err)
		}
		fmt.Print(a.Name, " ")
		switch {
		case a.Listener != nil:
			fmt.Print("Listener ", a.Listener.Addr())
			if l, ok := a.Listener.(*socket.TCPListener); ok {
				netsOptions(l)
			}
		case a.PacketConn != nil:
			fmt.Print("PacketConn ", a.PacketConn.LocalAddr())
		case a.Conn != nil:
			fmt.Print("Conn ", a.Conn.RemoteAddr())
		case a.File != nil:
			fmt.Print("File pipe")
			a.File.WriteString("from " + a.Name)
		}
		fmt.Print("; ")
		testenv.MustOK(a.Close())
	}
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "LISTEN_") {
			testenv.Fatal("the environment still has", e)
		}
	}
	if again, err := socket.Activation(); len(again) != 0 || err != nil {
		testenv.Fatal("a second call:", again, err)
	}
	if socket.OpenCount() != 0 {
		testenv.Fatal("sockets are open after Close")
	}
}

// netsOptions sees that connections of an activated listener have net's
// options, of which they had none.
func netsOptions(l *socket.TCPListener) {
	peer := testenv.Must(net.Dial("tcp", l.Addr().String()))
	defer peer.Close()
	c := testenv.Must(l.AcceptTCP())
	defer c.Close()
	for _, o := range [][2]int{{unix.IPPROTO_TCP, unix.TCP_NODELAY},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE}} {
		if on, err := unix.GetsockoptInt(c.FD(), o[0], o[1]); on != 1 || err != nil {
			testenv.Fatal("option", o, "of a connection is", on, err)
		}
	}
}
