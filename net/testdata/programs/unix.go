// A server on a Unix socket that is handed files, and a client.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

func serve(ln *net.UnixListener) {
	for {
		c, err := ln.AcceptUnix()
		if err != nil {
			return
		}
		go answer(c)
	}
}

// answer writes to the file that came along.
func answer(c *net.UnixConn) {
	defer c.Close()
	p, oob := make([]byte, 100), make([]byte, 100)
	n, oobn, _, _, err := c.ReadMsgUnix(p, oob)
	if err != nil {
		fmt.Fprintln(c, err)
		return
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		fmt.Fprintln(c, "no message", err)
		return
	}
	fds, _ := syscall.ParseUnixRights(&messages[0])
	f := os.NewFile(uintptr(fds[0]), "passed")
	defer f.Close()
	fmt.Fprintf(f, "got %q\n", p[:n])
	fmt.Fprintf(c, "done\n")
}

func main() {
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	addr, err := net.ResolveUnixAddr("unix", filepath.Join(dir, "s"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.ListenUnix("unix", addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	go serve(ln)

	c, err := net.DialUnix("unix", nil, addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, w, _ := os.Pipe()
	fmt.Println(c.WriteMsgUnix([]byte("write here"), syscall.UnixRights(int(w.Fd())), nil))
	w.Close()
	reply, err := io.ReadAll(c)
	fmt.Printf("%q %v\n", reply, err)
	passed, err := io.ReadAll(r)
	fmt.Printf("%q %v\n", passed, err)
	fmt.Println(c.RemoteAddr().Network(), filepath.Base(c.RemoteAddr().String()), c.Close())

	fmt.Println(ln.Close())
	_, err = os.Stat(addr.Name)
	fmt.Println(errors.Is(err, os.ErrNotExist))
	_, err = net.Dial("unix", addr.Name)
	fmt.Println(errors.Is(err, syscall.ENOENT))

	g1, err1 := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "1"), Net: "unixgram"})
	g2, err2 := net.ListenPacket("unixgram", filepath.Join(dir, "2"))
	if err1 != nil || err2 != nil {
		fmt.Println(err1, err2)
		return
	}
	fmt.Println(g2.WriteTo([]byte("datagram"), g1.LocalAddr()))
	p := make([]byte, 100)
	n, from, err := g1.ReadFromUnix(p)
	fmt.Printf("%q %s %v\n", p[:n], filepath.Base(from.Name), err)
	fmt.Println(g1.Close(), g2.Close())
}
