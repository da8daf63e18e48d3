package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
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

// adoptedFiles are files of every family and type that net has, in use and
// fresh, of others, and of no socket.
func adoptedFiles(t *testing.T) map[string]*os.File {
	tcp, _ := netPair(t)
	udpTo := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0")))
	udp := testenv.Closing(t, testenv.Must(net.Dial("udp", udpTo.LocalAddr().String())))
	tcpL := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	stream, _ := unixPair(t, "unix")
	packet, _ := unixPair(t, "unixpacket")
	gram, _ := unixPair(t, "unixgram")
	r, w := rawPipe(t)
	closed := testenv.Must(os.CreateTemp(t.TempDir(), ""))
	closed.Close()
	files := map[string]*os.File{"a pipe": os.NewFile(uintptr(r), "a pipe"),
		"a pipe's other end": os.NewFile(uintptr(w), "a pipe's other end"),
		"a folder":           testenv.Must(os.Open(t.TempDir())),
		"/dev/null":          testenv.Must(os.Open("/dev/null")), "a closed file": closed}
	for name, c := range map[string]interface{ File() (*os.File, error) }{
		"tcp": tcp, "udp with a peer": udp.(*net.UDPConn), "udp": udpTo.(*net.UDPConn),
		"tcp listener": tcpL.(*net.TCPListener), "unix listener": listenUnix(t, "unix"),
		"unix": stream, "unixpacket": packet, "unixgram": gram,
	} {
		files[name] = testenv.Must(c.File())
	}
	for name, kind := range map[string][2]int{"netlink": {unix.AF_NETLINK, unix.SOCK_RAW},
		"raw ip": {unix.AF_INET, unix.SOCK_RAW}, "fresh tcp": {unix.AF_INET, unix.SOCK_STREAM},
		"fresh udp6":       {unix.AF_INET6, unix.SOCK_DGRAM},
		"fresh unix":       {unix.AF_UNIX, unix.SOCK_STREAM},
		"fresh unixpacket": {unix.AF_UNIX, unix.SOCK_SEQPACKET},
		"fresh unixgram":   {unix.AF_UNIX, unix.SOCK_DGRAM},
	} {
		fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			files[name] = os.NewFile(uintptr(fd), name)
		}
	}
	for _, f := range files {
		testenv.Closing(t, f)
	}
	return files
}

// likeAdopted holds what a call has made of a file, or its error, against
// net's.
func likeAdopted[A, B closer](t *testing.T, what string, f *os.File, ours A, err error, theirs B,
	want error) {
	t.Helper()
	if f.Name() == "raw ip" { // is net's IPConn
		want = &net.OpError{Op: "file", Net: "file+net", Addr: fileName(f.Name()),
			Err: syscall.EPROTONOSUPPORT}
	}
	if err != nil || want != nil {
		testenv.Equal(t, adoptError(err), adoptError(want), what)
	} else {
		testenv.Equal(t, strings.ReplaceAll(fmt.Sprintf("%T", ours), "socket.", "net."),
			fmt.Sprintf("%T", theirs), what)
		if c, ok := any(ours).(net.Conn); ok {
			n := any(theirs).(net.Conn)
			testenv.Equal(t, fmt.Sprint(c.LocalAddr(), c.RemoteAddr()),
				fmt.Sprint(n.LocalAddr(), n.RemoteAddr()), what)
		}
	}
	shut(ours, err)
	if any(theirs) != nil {
		theirs.Close()
	}
}

// TestFileConns: what is adopted is of net's type and has its addresses, for
// every family and type that net has, and works.
func TestFileConns(t *testing.T) {
	start(t, 2)
	files := adoptedFiles(t)
	open, fds := socket.OpenCount(), testenv.Files()
	for name, f := range files {
		everywhere(t, func(p testrun.Place) {
			what := p.Name + ", " + name
			c, err := socket.FileConn(f)
			nc, want := net.FileConn(f)
			likeAdopted(t, what+": FileConn", f, c, err, nc, want)
			if name != "raw ip" {
				l, err := socket.FileListener(f)
				nl, want := net.FileListener(f)
				likeAdopted(t, what+": FileListener", f, l, err, nl, want)
			}
			pc, err := socket.FilePacketConn(f)
			npc, want := net.FilePacketConn(f)
			likeAdopted(t, what+": FilePacketConn", f, pc, err, npc, want)
		})
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

// adoptError describes an error but for the type of its address, which is the
// package's own.
func adoptError(err error) string {
	var (
		op    *net.OpError
		call  *os.SyscallError
		errno syscall.Errno
	)
	errors.As(err, &errno)
	return fmt.Sprint(err, errors.As(err, &op), errors.As(err, &call), errno)
}

// TestFileConnWorks: a connection that was a file's echoes, a listener that was
// a file's accepts.
func TestFileConnWorks(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		nl := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		f := testenv.Closing(t, testenv.Must(nl.(*net.TCPListener).File()))
		l := testenv.Closing(t, testenv.Must(socket.FileListener(f)))
		server := p.Go(func() {
			c := testenv.Must(l.Accept()).(*socket.TCPConn)
			fc := testenv.Must(c.File())
			again := testenv.Must(socket.FileConn(fc))
			fc.Close()
			c.Close()
			echo(again)
		})
		c := dialNet(t, nl.Addr().String())
		testenv.NoError(t, answered(c, "hello"))
		c.Close()
		server.Wait(t)
	})
}

// env is what a child is started with.
type env = []string

// activations are ways to start a service, well or badly, with so many files.
// What the child prints is want, or has it in it if that names a variable.
var activations = []struct {
	name  string
	env   env
	files int
	want  string
}{
	{"all kinds", env{"LISTEN_FDS=6", "LISTEN_PID=self", "LISTEN_FDNAMES=a:b:c:d::f"},
		6, "a Listener TCP; b PacketConn UDP; c Conn CONN; d Listener UNIX;  PacketConn GRAM; " +
			"f File pipe; "},
	{"a parent that knows no pid", env{"LISTEN_FDS=1", "LISTEN_FDNAMES=a"}, 1,
		"a Listener TCP; "},
	{"no names", env{"LISTEN_FDS=1", "LISTEN_PID=self"}, 1,
		"unknown Listener TCP; "},
	{"nothing", nil, 0, ""},
	{"for another", env{"LISTEN_FDS=1", "LISTEN_PID=1"}, 1, ""},
	{"none", env{"LISTEN_FDS=0", "LISTEN_PID=self"}, 0, ""},
	{"no number", env{"LISTEN_FDS=some", "LISTEN_PID=self"}, 1, `LISTEN_FDS is "some"`},
	{"less than none", env{"LISTEN_FDS=-1", "LISTEN_PID=self"}, 1, `LISTEN_FDS is "-1"`},
	{"too large a number", env{"LISTEN_FDS=99999999999999999999", "LISTEN_PID=self"}, 1,
		`LISTEN_FDS is "9999`},
	// 3, the first fd, added to this number made a loop over no fds, and
	// then a slice of that length.
	{"the largest int", env{"LISTEN_FDS=9223372036854775807", "LISTEN_PID=self"}, 1,
		`LISTEN_FDS is "9223372036854775807", want a number of fds`},
	{"more than there are fds", env{"LISTEN_FDS=2147483645", "LISTEN_PID=self"}, 1,
		`LISTEN_FDS is "2147483645", want a number of fds`},
	{"as many as there are fds", env{"LISTEN_FDS=2147483644", "LISTEN_PID=self"}, 2,
		"LISTEN_FDS is 2147483644, but fd 5 was not handed over"},
	{"a sign", env{"LISTEN_FDS=+1", "LISTEN_PID=self"}, 1, `LISTEN_FDS is "+1"`},
	{"a space", env{"LISTEN_FDS= 1", "LISTEN_PID=self"}, 1, `LISTEN_FDS is " 1"`},
	{"too large a pid", env{"LISTEN_FDS=1", "LISTEN_PID=9223372036854775807"}, 1,
		`LISTEN_PID is "9223372036854775807"`},
	{"pid 0", env{"LISTEN_FDS=1", "LISTEN_PID=0"}, 1, `LISTEN_PID is "0"`},
	{"a pid with a sign", env{"LISTEN_FDS=1", "LISTEN_PID=-1"}, 1, `LISTEN_PID is "-1"`},
	{"a name that no fd has", env{"LISTEN_FDS=1", "LISTEN_PID=self",
		"LISTEN_FDNAMES=a\nb"}, 1, `LISTEN_FDNAMES has the name "a\nb"`},
	{"too long a name", env{"LISTEN_FDS=1", "LISTEN_PID=self", "LISTEN_FDNAMES=" +
		strings.Repeat("x", 256)}, 1, "LISTEN_FDNAMES has the name \"xxx"},
	{"names for none", env{"LISTEN_FDS=0", "LISTEN_PID=self", "LISTEN_FDNAMES=a"}, 0,
		`LISTEN_FDNAMES is "a", 1 names for LISTEN_FDS=0`},
	{"no pid", env{"LISTEN_FDS=1", "LISTEN_PID=me"}, 1, `LISTEN_PID is "me"`},
	{"too few fds", env{"LISTEN_FDS=3", "LISTEN_PID=self"}, 2,
		"LISTEN_FDS is 3, but fd 5 was not handed over: fcntl: bad file descriptor"},
	{"far too few fds", env{"LISTEN_FDS=1000000000", "LISTEN_PID=self"}, 2,
		"LISTEN_FDS is 1000000000, but fd 5 was not handed over"},
	{"too few names", env{"LISTEN_FDS=2", "LISTEN_PID=self", "LISTEN_FDNAMES=a"}, 2,
		`LISTEN_FDNAMES is "a", 1 names for LISTEN_FDS=2`},
	{"too many names", env{"LISTEN_FDS=1", "LISTEN_PID=self", "LISTEN_FDNAMES=a:b"}, 1,
		"2 names for LISTEN_FDS=1"},
}

// TestActivation runs a child that is started as systemd starts a service, well
// or badly.
func TestActivation(t *testing.T) {
	tcp := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	udp := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0")))
	conn, _ := netPair(t)
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", unixName(t, "s"))))
	gram := testenv.Closing(t,
		testenv.Must(net.ListenPacket("unixgram", "@netco-test-"+fmt.Sprint(os.Getpid()))))
	pipe, w, err := os.Pipe()
	testenv.OK(t, err)
	defer pipe.Close()
	var files []*os.File
	for _, c := range []interface{ File() (*os.File, error) }{tcp.(*net.TCPListener),
		udp.(*net.UDPConn), conn, ul.(*net.UnixListener), gram.(*net.UnixConn)} {
		files = append(files, testenv.Closing(t, testenv.Must(c.File())))
	}
	files = append(files, w)
	addresses := strings.NewReplacer("TCP", tcp.Addr().String(), "UDP", udp.LocalAddr().String(),
		"CONN", conn.RemoteAddr().String(), "UNIX", ul.Addr().String(),
		"GRAM", gram.LocalAddr().String())
	for _, c := range activations {
		cmd := children.Command(t, "activated")
		cmd.Env = append(cmd.Env, c.env...)
		cmd.ExtraFiles = files[:c.files]
		if slices.Contains(c.env, "LISTEN_PID=self") {
			// A shell that becomes the child has its pid.
			sh := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", cmd.Path)
			sh.Env, sh.ExtraFiles = cmd.Env, cmd.ExtraFiles
			cmd = sh
		}
		out, err := cmd.CombinedOutput()
		testenv.Fails(t, err, nil, c.name)
		got, want := string(out), addresses.Replace(c.want)
		if strings.Contains(want, "LISTEN") && strings.Contains(got, want) {
			continue
		}
		testenv.Equal(t, got, want, c.name)
	}
	w.Close()
	testenv.Gives(t, "from f", nil, "through the pipe")(testenv.AsText(io.ReadAll(pipe)))
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
