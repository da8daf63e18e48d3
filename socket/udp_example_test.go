package socket_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A server answers whoever asks; a client has a socket that is connected to it.
func ExampleListenPacket() {
	defer netco.Shutdown(context.Background())
	server, err := socket.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	netco.Run(func() {
		if _, err := netco.Go(func() {
			buf := make([]byte, 1500)
			n, from, err := server.ReadFrom(buf)
			if err == nil {
				server.WriteTo(append([]byte("echo of "), buf[:n]...), from)
			}
		}); err != nil {
			fmt.Println(err)
			return
		}
		c, err := socket.Dial("udp", server.LocalAddr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
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
	a, err := socket.ListenUDP("udp", loopback4)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	b, err := socket.ListenUDP("udp", loopback4)
	if err != nil {
		fmt.Println(err)
		return
	}
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
			n, err := b.ReadBatch(in)
			if err != nil {
				fmt.Println(err)
				return
			}
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
	b, err := socket.ListenUDP("udp", loopback4)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	a, err := socket.DialUDP("udp", nil, udpAddr(b))
	if err != nil {
		fmt.Println(err)
		return
	}
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
