package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/examples/internal/child"
	"github.com/netco-go/netco/examples/internal/reports"
)

// TestMain runs the daemon itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestEchoAndStop talks to the daemon from several sockets, ends it by each
// signal, and wants exit code 0.
func TestEchoAndStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, gro := range []bool{false, true} {
			t.Run(fmt.Sprint(sig, " gro ", gro), func(t *testing.T) {
				cmd, addr := child.Start(t, "-addr", "127.0.0.1:0", "-processors", "2",
					fmt.Sprint("-gro=", gro))
				for client := range 8 { // which the kernel spreads over the sockets
					talk(t, addr, client)
				}
				cmd.Process.Signal(sig)
				if err := cmd.Wait(); err != nil {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

// talk sends datagrams of several sizes, some of them before the first answer
// is read.
func talk(t *testing.T, address string, client int) {
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	buf := make([]byte, 4096)
	for _, size := range []int{0, 1, 100, 1472, 2048} {
		const ahead = 5
		want := func(i int) string { return strings.Repeat(string(rune('a'+(client+i)%26)), size) }
		for i := range ahead {
			if _, err := c.Write([]byte(want(i))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range ahead {
			n, err := c.Read(buf)
			if err != nil || string(buf[:n]) != want(i) {
				t.Fatalf("answer %d of %d bytes: %d, %v", i, size, n, err)
			}
		}
	}
}

// TestPortZero: whoever sends datagrams that cannot be answered does not
// write the log: from port 0, there was a line for each.
func TestPortZero(t *testing.T) {
	raw, err := net.ListenPacket("ip4:udp", "127.0.0.1")
	if err != nil {
		t.Skip("cannot make datagrams by hand: ", err)
	}
	defer raw.Close()
	var log bytes.Buffer
	cmd, address := child.StartTo(t, &log, "-addr", "127.0.0.1:0", "-processors", "1")
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	bad := make([]byte, 9) // source port, destination port, length, no checksum, one byte
	binary.BigEndian.PutUint16(bad[2:], uint16(c.RemoteAddr().(*net.UDPAddr).Port))
	binary.BigEndian.PutUint16(bad[4:], uint16(len(bad)))
	for range 20 {
		for range 50 {
			if _, err := raw.WriteTo(bad, &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
				t.Fatal(err)
			}
		}
		talk(t, address, 0) // so that all before has been read
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	lines, most := strings.Count(log.String(), "\n"), 2+int(time.Since(began)/reports.Every)
	if lines == 0 || lines > most {
		t.Errorf("%d lines, want 1 to %d: %.300s", lines, most, &log)
	}
}
