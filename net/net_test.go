package net_test

import (
	"errors"
	stdnet "net"
	"os"
	"syscall"
	"testing"

	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
)

// TestStandardInterfaces: what is made here is what other packages take.
func TestStandardInterfaces(t *testing.T) {
	testrun.Start(t, 1)
	testrun.In(t, 0, func() {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			return
		}
		var theirs stdnet.Listener = ln
		theirs.Close()
		var op *stdnet.OpError
		if _, err = net.Dial("tcp", ln.Addr().String()); !errors.As(err, &op) ||
			!errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial: %v, want the standard's *OpError", err)
		}
		if _, err := ln.Accept(); !errors.Is(err, stdnet.ErrClosed) {
			t.Errorf("Accept: %v, want the standard's ErrClosed", err)
		}
	})
}

// TestRawNetworks: the networks of IPConn are the standard's business, errors
// included, and those of a name that only begins like them are not listed.
func TestRawNetworks(t *testing.T) {
	for _, network := range []string{"ip", "ip4:icmp", "ip6:58", "ip4:no such protocol", "ipx",
		"ip4x:1"} {
		gotConn, got := net.Dial(network, "127.0.0.1")
		wantConn, want := stdnet.Dial(network, "127.0.0.1")
		sameRaw(t, "Dial "+network, gotConn, got, wantConn, want)
		gotPacket, got := net.ListenPacket(network, "127.0.0.1")
		wantPacket, want := stdnet.ListenPacket(network, "127.0.0.1")
		sameRaw(t, "ListenPacket "+network, gotPacket, got, wantPacket, want)
	}
}

// sameRaw compares results: two IPConns, or two errors.
func sameRaw[C interface{ Close() error }](t *testing.T, what string, got C, gotErr error, want C,
	wantErr error) {
	t.Helper()
	if gotErr == nil {
		if _, ok := any(got).(*net.IPConn); !ok {
			t.Errorf("%s: a %T", what, got)
		}
		defer got.Close()
	}
	if wantErr == nil {
		defer want.Close()
	}
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Errorf("%s: %v, want %v", what, gotErr, wantErr)
	}
}

// TestFilesOfRawSockets: FileConn knows them too, and what it does not know is
// the same error as ever.
func TestFilesOfRawSockets(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC,
		syscall.IPPROTO_ICMP)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("it takes CAP_NET_RAW")
	} else if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "raw")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := net.FilePacketConn(f)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, isRaw := c.(*net.IPConn)
	_, isRawToo := p.(*net.IPConn)
	if !isRaw || !isRawToo {
		t.Errorf("%T and %T", c, p)
	}
}

// TestFilesOfOtherSockets: what neither package knows is an error, and no
// connection.
func TestFilesOfOtherSockets(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "netlink")
	defer f.Close()
	if c, err := net.FileConn(f); !errors.Is(err, syscall.EPROTONOSUPPORT) || c != nil {
		t.Errorf("FileConn: %v, %v", c, err)
	}
	if c, err := net.FilePacketConn(f); !errors.Is(err, syscall.EPROTONOSUPPORT) || c != nil {
		t.Errorf("FilePacketConn: %v, %v", c, err)
	}
}
