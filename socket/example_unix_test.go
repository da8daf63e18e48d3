package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A server hands out an open file over a Unix socket.
func ExampleUnixConn_WriteMsgUnix() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	l, err := socket.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer c.Close()
		file, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			return
		}
		defer file.Close()
		c.WriteMsgUnix([]byte("here"), syscall.UnixRights(int(file.Fd())), nil)
		io.Copy(io.Discard, c)
	}()

	c, err := socket.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	buf, oob := make([]byte, 10), make([]byte, syscall.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		fmt.Println(err)
		return
	}
	msgs, _ := syscall.ParseSocketControlMessage(oob[:oobn])
	fds, _ := syscall.ParseUnixRights(&msgs[0])
	file := os.NewFile(uintptr(fds[0]), "passed")
	fmt.Fprint(file, "written by another")
	file.Close()
	text, _ := os.ReadFile(filepath.Join(dir, "file"))
	fmt.Printf("%s: %s\n", buf[:n], text)
	// Output: here: written by another
}

// An abstract name is no file, so there is nothing to remove.
func ExampleListenUnixgram() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	name := &net.UnixAddr{Name: fmt.Sprint("@netco-example-", os.Getpid()), Net: "unixgram"}
	server, err := socket.ListenUnixgram("unixgram", name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client, err := socket.DialUnix("unixgram", nil, name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	client.Write([]byte("one"))
	client.Write(nil)
	client.Write([]byte("two"))
	buf := make([]byte, 100)
	for range 3 {
		n, err := server.Read(buf)
		fmt.Printf("%q %v\n", buf[:n], err)
	}
	// Output:
	// "one" <nil>
	// "" <nil>
	// "two" <nil>
}

// A daemon that systemd, or the daemon's own predecessor, may have started with
// its listener.
func ExampleActivation() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	inherited, err := socket.Activation()
	if err != nil {
		fmt.Println(err) // what came is not what was agreed on
		return
	}
	var l net.Listener
	for _, a := range inherited {
		if a.Name == "http" && a.Listener != nil {
			l = a.Listener
			continue
		}
		a.Close()
	}
	if l == nil {
		if l, err = socket.Listen("tcp", "127.0.0.1:0"); err != nil {
			fmt.Println(err)
			return
		}
	}
	defer l.Close()
	fmt.Println("inherited", len(inherited))
	// Output: inherited 0
}

func ExampleNewSocket() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	s, err := socket.NewSocket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	s.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	self, _ := s.Getsockname()
	s.Sendmsg([]byte("to myself"), nil, self, 0)
	buf := make([]byte, 100)
	n, _, _, from, err := s.Recvmsg(buf, nil, 0)
	fmt.Printf("%s, from the same port: %v, %v\n", buf[:n], from.(*unix.SockaddrInet4).Port == self.(*unix.SockaddrInet4).Port, err)
	// Output: to myself, from the same port: true, <nil>
}

func ExampleFileListener() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	theirs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := theirs.(*net.TCPListener).File()
	theirs.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := socket.FileListener(file)
	file.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	fmt.Println("still listening:", l.Addr().String() == theirs.Addr().String())
	// Output: still listening: true
}
