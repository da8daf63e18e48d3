// A UDP responder that answers in capitals, and clients of it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

func respond(c *net.UDPConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		c.WriteToUDPAddrPort(bytes.ToUpper(buf[:n]), from)
	}
}

func main() {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	go respond(c)
	at := c.LocalAddr().(*net.UDPAddr)
	buf := make([]byte, 1500)

	d, err := net.DialUDP("udp", nil, at)
	if err != nil {
		fmt.Println(err)
		return
	}
	d.SetDeadline(time.Now().Add(10 * time.Second))
	for _, s := range []string{"one", "two", ""} {
		fmt.Println(d.Write([]byte(s)))
		n, from, err := d.ReadFromUDP(buf)
		fmt.Printf("%q %t %v\n", buf[:n], from.Port == at.Port, err)
	}
	_, err = d.WriteTo([]byte("x"), at)
	fmt.Println(errors.Is(err, net.ErrWriteToConnected))

	var hooked []string
	lc := net.ListenConfig{Control: func(network, address string, _ syscall.RawConn) error {
		hooked = append(hooked, network, address)
		return nil
	}}
	p, err := lc.ListenPacket(context.Background(), "udp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hooked)
	p.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Println(p.WriteTo([]byte("three"), at))
	n, from, err := p.ReadFrom(buf)
	fmt.Printf("%q %t %v\n", buf[:n], from.String() == at.String(), err)
	p.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, _, err = p.ReadFrom(buf)
	var ne net.Error
	fmt.Println(errors.As(err, &ne) && ne.Timeout())

	fmt.Println(c.Close(), d.Close(), p.Close())
	d, err = net.DialUDP("udp", nil, p.LocalAddr().(*net.UDPAddr))
	if err != nil {
		fmt.Println(err)
		return
	}
	d.SetDeadline(time.Now().Add(10 * time.Second))
	d.Write([]byte("nobody"))
	_, err = d.Read(buf)
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED), d.Close())
}
