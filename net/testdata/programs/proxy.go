// A TCP proxy that passes half-closes on, the server behind it, and a client in
// front of it.
package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"
)

// server answers with how much came until the end of the stream.
func server(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go sum(c)
	}
}

func sum(c net.Conn) {
	defer c.Close()
	h := crc32.NewIEEE()
	n, err := io.Copy(h, c)
	fmt.Fprintf(c, "%d bytes, sum %08x, %v\n", n, h.Sum32(), err)
}

func proxy(ln net.Listener, to string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go forward(c, to)
	}
}

func forward(c net.Conn, to string) {
	defer c.Close()
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: time.Minute}
	back, err := dialer.Dial("tcp", to)
	if err != nil {
		return
	}
	defer back.Close()
	go pass(back, c)
	pass(c, back)
}

// pass copies until the end of src, and passes that on too.
func pass(dst, src net.Conn) {
	io.Copy(dst, src)
	switch dst := dst.(type) {
	case *net.TCPConn:
		dst.CloseWrite()
	case *net.UnixConn:
		dst.CloseWrite()
	default:
		dst.Close()
	}
}

func main() {
	behind, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer behind.Close()
	ahead, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP("127.0.0.1")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ahead.Close()
	go server(behind)
	go proxy(ahead, behind.Addr().String())

	for size := 1; size < 4<<20; size = size*8 + 1 {
		c, err := net.DialTCP("tcp", nil, ahead.Addr().(*net.TCPAddr))
		if err != nil {
			fmt.Println(err)
			return
		}
		c.SetDeadline(time.Now().Add(30 * time.Second))
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7)
		}
		bufs := net.Buffers{data[:size/3], data[size/3 : size/2], nil, data[size/2:]}
		n, err := bufs.WriteTo(c)
		fmt.Println(n, err, len(bufs), c.CloseWrite())
		answer, err := io.ReadAll(c)
		fmt.Printf("%s%v\n", answer, err)
		c.Close()
	}
}
