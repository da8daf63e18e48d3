package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// A server with one coroutine for each connection, and a client of it.
func ExampleTCPListener() {
	defer netco.Shutdown(context.Background())
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		if _, err := netco.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // closed
				}
				if _, err := netco.Go(func() {
					defer c.Close()
					io.Copy(c, c)
				}); err != nil {
					c.Close()
				}
			}
		}); err != nil {
			fmt.Println(err)
			return
		}

		c, err := netco.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Fprint(c, "hello")
		c.(*socket.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(c)
		fmt.Printf("%s\n", answer)
		c.Close()
		l.Close()
	})
	// Output: hello
}

// must is for examples. A program looks at the error, as the one above does.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Ordinary goroutines use the same connections; for them the calls block.
func ExampleTCPConn() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "from a goroutine")
			c.Close()
		}
	}()
	c := must(netco.Dial("tcp", l.Addr().String()))
	defer c.Close()
	answer, _ := io.ReadAll(c)
	fmt.Printf("%s\n", answer)
	// Output: from a goroutine
}

// A server for many connections that are mostly idle waits without a buffer and
// borrows one for each request.
func ExampleTCPConn_WaitReadable() {
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	serve := func(c *socket.TCPConn) {
		defer c.Close()
		for c.WaitReadable() == nil {
			buf := socket.AcquireBuffer()
			n, err := c.Read(buf.Bytes())
			if err == nil {
				_, err = c.Write(buf.Bytes()[:n])
			}
			buf.Release() // before the next wait
			if err != nil {
				return
			}
		}
	}
	netco.Run(func() {
		must(netco.Go(func() {
			defer l.Close()
			if c, err := l.Accept(); err == nil {
				serve(c.(*socket.TCPConn))
			}
		}))
		c := must(netco.Dial("tcp", l.Addr().String()))
		defer c.Close()
		for _, request := range []string{"one", "two"} {
			fmt.Fprint(c, request)
			answer := make([]byte, len(request))
			io.ReadFull(c, answer)
			fmt.Printf("%s\n", answer)
		}
	})
	// Output:
	// one
	// two
}

func ExampleConn_SetReadDeadline() {
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	netco.Run(func() {
		c := must(netco.Dial("tcp", l.Addr().String()))
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
		var timeout net.Error
		fmt.Println(errors.As(err, &timeout) && timeout.Timeout())
	})
	// Output:
	// true
	// true
}

// Closing ends what waits.
func ExampleConn_Close() {
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	netco.Run(func() {
		c := must(netco.Dial("tcp", l.Addr().String()))
		reader, _ := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			_, err := c.Read(make([]byte, 1))
			fmt.Println(errors.Is(err, net.ErrClosed))
		}})
		netco.Yield() // the reader runs, and waits
		c.Close()
		reader.Join()
	})
	// Output: true
}

// One listener for each Processor: no connection changes threads.
func ExampleListenReusePort() {
	netco.Start(netco.Options{Processors: 2})
	defer netco.Shutdown(context.Background())
	listeners := must(socket.ListenReusePort("tcp", "127.0.0.1:0", 2))
	var served sync.WaitGroup
	served.Add(10)
	for i, l := range listeners {
		if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i), Fn: func() {
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					return
				}
				if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
					defer served.Done()
					defer c.Close()
					io.Copy(c, c)
				}}); err != nil {
					served.Done()
					c.Close()
				}
			}
		}}); err != nil {
			panic(err)
		}
	}
	for range 10 {
		c := must(net.Dial("tcp", listeners[0].Addr().String()))
		c.Close()
	}
	served.Wait()
	for _, l := range listeners {
		l.Close()
	}
	fmt.Println("10 served")
	// Output: 10 served
}

// A dial with a time limit, an option of its own for the socket, and a context
// that can end it.
func ExampleDialer() {
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	d := socket.Dialer{
		Timeout:   5 * time.Second,
		KeepAlive: time.Minute,
		Control: func(network, address string, c syscall.RawConn) error {
			fmt.Println(network, address == l.Addr().String())
			var err error
			if cerr := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30_000)
			}); cerr != nil {
				return cerr
			}
			return err
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	netco.Run(func() {
		c := must(d.DialContext(ctx, "tcp", l.Addr().String()))
		fmt.Println("connected to", c.RemoteAddr().String() == l.Addr().String())
		c.Close()

		cancel()
		_, err := d.DialContext(ctx, "tcp", l.Addr().String())
		fmt.Println(errors.Is(err, context.Canceled))
	})
	// Output:
	// tcp4 true
	// connected to true
	// true
}

// Several coroutines ask for a name, and no thread of theirs waits for it.
func ExampleResolver() {
	defer netco.Shutdown(context.Background())
	r := &socket.Resolver{PreferGo: true}
	found := make([]string, 3)
	netco.Run(func() {
		for i := range found {
			must(netco.Go(func() {
				ips := must(r.LookupNetIP(context.Background(), "ip4", "localhost"))
				found[i] = ips[0].Unmap().String()
			}))
		}
	})
	fmt.Println(found)
	// Output: [127.0.0.1 127.0.0.1 127.0.0.1]
}

// A coroutine that waits for two pipes at once.
func ExamplePoll() {
	defer netco.Shutdown(context.Background())
	var a, b [2]int
	unix.Pipe2(a[:], unix.O_CLOEXEC)
	unix.Pipe2(b[:], unix.O_CLOEXEC)
	defer func() {
		for _, fd := range append(a[:], b[:]...) {
			unix.Close(fd)
		}
	}()
	netco.Run(func() {
		must(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			unix.Write(b[1], []byte("hello"))
		}}))
		fds := []socket.PollFd{
			{Fd: int32(a[0]), Events: unix.POLLIN},
			{Fd: int32(b[0]), Events: unix.POLLIN},
		}
		n, err := socket.Poll(fds, time.Minute)
		fmt.Println(n, err)
		for i, f := range fds {
			if f.Revents&unix.POLLIN != 0 {
				fmt.Println("the pipe number", i)
			}
		}
	})
	// Output:
	// 1 <nil>
	// the pipe number 1
}

// A wait that other code may call off.
func ExamplePollContext() {
	defer netco.Shutdown(context.Background())
	timer := must(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)) // never set
	defer unix.Close(timer)
	ctx, cancel := context.WithCancel(context.Background())
	netco.Run(func() {
		must(netco.GoWith(netco.Spawn{Local: true, Fn: cancel}))
		_, err := socket.PollContext(ctx, []socket.PollFd{{Fd: int32(timer), Events: unix.POLLIN}})
		fmt.Println(err)
	})
	// Output: context canceled
}

// A pipe with os's end and a coroutine's end.
func ExampleNewFile() {
	defer netco.Shutdown(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	defer w.Close()
	f := must(socket.NewFile(r))
	netco.Run(func() {
		defer f.Close()
		f.SetReadDeadline(time.Now().Add(time.Millisecond))
		buf := make([]byte, 16)
		_, err := f.Read(buf) // parks
		fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))

		f.SetReadDeadline(time.Time{})
		must(netco.GoWith(netco.Spawn{Local: true, Fn: func() { fmt.Fprint(w, "hello") }}))
		n, err := f.Read(buf)
		fmt.Printf("%s %v\n", buf[:n], err)
	})
	// Output:
	// true
	// hello <nil>
}

// A Server's connections hold no coroutine while they wait for their next
// request.
func ExampleServer() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	server := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			b := socket.AcquireBuffer()
			defer b.Release()
			n, err := c.Read(b.Bytes())
			if err != nil {
				return err // also io.EOF: the connection is closed
			}
			_, err = fmt.Fprintf(c, "you said %s", b.Bytes()[:n])
			return err // nil: idle again
		},
	}
	must(netco.Go(func() {
		if err := server.Serve(l); !errors.Is(err, socket.ErrServerClosed) {
			fmt.Println(err)
		}
	}))

	c := must(net.Dial("tcp", l.Addr().String()))
	defer c.Close()
	answers := bufio.NewReader(c)
	for _, request := range []string{"one", "two"} {
		fmt.Fprintln(c, request)
		answer, _ := answers.ReadString('\n')
		fmt.Print(answer)
	}
	server.Shutdown(context.Background())
	// Output:
	// you said one
	// you said two
}

// A server hands out an open file over a Unix socket.
func ExampleUnixConn_WriteMsgUnix() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	at := &net.UnixAddr{Name: fmt.Sprint("@netco-file-", os.Getpid()), Net: "unix"}
	l := must(conet.ListenUnix("unix", at))
	defer l.Close()
	go func() {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer c.Close()
		file, err := os.CreateTemp("", "example")
		if err != nil {
			return
		}
		defer os.Remove(file.Name())
		defer file.Close()
		c.WriteMsgUnix([]byte("here"), syscall.UnixRights(int(file.Fd())), nil)
		io.Copy(io.Discard, c)
	}()

	c := must(conet.DialUnix("unix", nil, at))
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
	file.Seek(0, io.SeekStart)
	text, _ := io.ReadAll(file)
	file.Close()
	fmt.Printf("%s: %s\n", buf[:n], text)
	// Output: here: written by another
}

// An abstract name is no file, so there is nothing to remove.
func ExampleUnixConn() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	name := &net.UnixAddr{Name: fmt.Sprint("@netco-example-", os.Getpid()), Net: "unixgram"}
	server := must(conet.ListenUnixgram("unixgram", name))
	defer server.Close()
	client := must(conet.DialUnix("unixgram", nil, name))
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

func ExampleNewSocket() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	s := must(socket.NewSocket(unix.AF_INET, unix.SOCK_DGRAM, 0))
	defer s.Close()
	s.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	self, _ := s.Getsockname()
	s.Sendmsg([]byte("to myself"), nil, self, 0)
	buf := make([]byte, 100)
	n, _, _, from, err := s.Recvmsg(buf, nil, 0)
	fmt.Printf("%s, from the same port: %v, %v\n", buf[:n],
		from.(*unix.SockaddrInet4).Port == self.(*unix.SockaddrInet4).Port, err)
	// Output: to myself, from the same port: true, <nil>
}

func ExampleTCPListener_File() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	theirs := must(net.Listen("tcp", "127.0.0.1:0"))
	file, err := theirs.(*net.TCPListener).File()
	theirs.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := conet.FileListener(file)
	file.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	fmt.Println("still listening:", l.Addr().String() == theirs.Addr().String())
	// Output: still listening: true
}

// A server answers whoever asks; a client has a socket that is connected to it.
func ExampleUDPConn() {
	defer netco.Shutdown(context.Background())
	server := must(conet.ListenPacket("udp", "127.0.0.1:0"))
	defer server.Close()
	netco.Run(func() {
		must(netco.Go(func() {
			buf := make([]byte, 1500)
			n, from, err := server.ReadFrom(buf)
			if err == nil {
				server.WriteTo(append([]byte("echo of "), buf[:n]...), from)
			}
		}))
		c := must(netco.Dial("udp", server.LocalAddr().String()))
		defer c.Close()
		c.Write([]byte("hello"))
		buf := make([]byte, 1500)
		n, _ := c.Read(buf)
		fmt.Printf("%s\n", buf[:n])
	})
	// Output: echo of hello
}

// Many datagrams in one system call, sent and received.
func ExampleUDPConn_WriteBatch() {
	defer netco.Shutdown(context.Background())
	a := must(conet.ListenUDP("udp", loopback4))
	defer a.Close()
	b := must(conet.ListenUDP("udp", loopback4))
	defer b.Close()
	netco.Run(func() {
		to := b.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort()
		out := []socket.Message{
			{Buf: []byte("one"), Addr: to},
			{Buf: []byte("two"), Addr: to},
			{Buf: []byte("three"), Addr: to},
		}
		sent, err := a.WriteBatch(out)
		fmt.Println(sent, err)

		in := make([]socket.Message, 16) // to be used again and again
		for i := range in {
			in[i].Buf = make([]byte, 1500)
		}
		for sent > 0 {
			n := must(b.ReadBatch(in))
			for _, m := range in[:n] {
				fmt.Printf("%s\n", m.Buf[:m.N])
			}
			sent -= n
		}
	})
	// Output:
	// 3 <nil>
	// one
	// two
	// three
}

// One Buf, several datagrams: the kernel cuts them apart.
func ExampleMessage_segmentSize() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	b := must(conet.ListenUDP("udp", loopback4))
	defer b.Close()
	a := must(conet.DialUDP("udp", nil, udpAddr(b)))
	defer a.Close()
	m := socket.Message{Buf: []byte("firstsecndlast"), SegmentSize: 5}
	if _, err := a.WriteBatch([]socket.Message{m}); err != nil {
		fmt.Println(err)
		return
	}
	buf := make([]byte, 1500)
	for range 3 {
		n, _ := b.Read(buf)
		fmt.Printf("%s\n", buf[:n])
	}
	// Output:
	// first
	// secnd
	// last
}

// serveOnce accepts one connection and gives it to handle.
func serveOnce(handle func(c *socket.TCPConn)) (addr string) {
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	must(netco.Go(func() {
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		handle(c.(*socket.TCPConn))
	}))
	return l.Addr().String()
}

// ask sends a question and returns the answer.
func ask(addr, question string) string {
	c := must(net.Dial("tcp", addr))
	defer c.Close()
	io.WriteString(c, question)
	c.(*net.TCPConn).CloseWrite()
	answer := must(io.ReadAll(c))
	return string(answer)
}

// A proxy copies both ways, and passes an end of stream on.
func ExampleTCPConn_ReadFrom() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	echo := serveOnce(func(c *socket.TCPConn) { io.Copy(c, c) })
	proxy := serveOnce(func(client *socket.TCPConn) {
		c, err := netco.Dial("tcp", echo)
		if err != nil {
			return
		}
		defer c.Close()
		server := c.(*socket.TCPConn)
		answers, _ := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			client.ReadFrom(server) // as io.Copy(client, server) does
			client.CloseWrite()
		}})
		server.ReadFrom(client)
		server.CloseWrite()
		answers.Join()
	})
	fmt.Println(ask(proxy, "hello"))
	// Output: hello
}

// A head and a file: one call for the pieces of the head, sendfile for the
// file.
func ExampleBuffers() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	f := must(os.CreateTemp("", "netco"))
	defer f.Close()
	os.Remove(f.Name())
	f.WriteString("the file")
	f.Seek(0, io.SeekStart)
	addr := serveOnce(func(c *socket.TCPConn) {
		head := socket.Buffers{[]byte("name: "), []byte("example"), []byte("\n")}
		if _, err := head.WriteTo(c); err != nil {
			return
		}
		io.Copy(c, f)
	})
	fmt.Println(ask(addr, ""))
	// Output:
	// name: example
	// the file
}

// Write net.Buffers like this, because net.Buffers.WriteTo would write
// them one by one.
func ExampleTCPConn_WriteBuffers() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	addr := serveOnce(func(c *socket.TCPConn) {
		v := net.Buffers{[]byte("one "), []byte("call")}
		n, err := c.WriteBuffers(&v)
		fmt.Println(n, err, len(v))
	})
	fmt.Println(ask(addr, ""))
	// Output:
	// 8 <nil> 0
	// one call
}

// A server that adds numbers. A client that sends several lines at once gets
// their answers in one piece: they are sent when the server finds no further
// line and is about to wait.
func ExampleBuffered() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	l := must(netco.Listen("tcp", "127.0.0.1:0"))
	serve := func(c *socket.TCPConn) {
		b := socket.NewBuffered(c)
		defer b.Close()
		sum := 0
		for {
			line, err := b.ReadLine()
			if err != nil {
				return
			}
			n, err := strconv.Atoi(string(line))
			if err != nil {
				b.WriteString("not a number\n")
				return // Close sends it
			}
			sum += n
			answer := strconv.AppendInt(b.AvailableBuffer(), int64(sum), 10)
			b.Write(append(answer, '\n'))
		}
	}
	must(netco.Go(func() {
		defer l.Close()
		if c, err := l.Accept(); err == nil {
			serve(c.(*socket.TCPConn))
		}
	}))

	client := must(net.Dial("tcp", l.Addr().String()))
	defer client.Close()
	fmt.Fprint(client, "1\n2\n3\n")
	var answer [64]byte
	n, _ := client.Read(answer[:])
	fmt.Printf("%q\n", answer[:n])
	fmt.Fprint(client, "x\n")
	n, _ = client.Read(answer[:])
	fmt.Printf("%q\n", answer[:n])
	// Output:
	// "1\n3\n6\n"
	// "not a number\n"
}
