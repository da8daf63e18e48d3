package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestUnixEOFAsNet: every method that reads reports the end of a connection in
// the form that package net of the running release has for it. Go 1.27 changed
// that of ReadFrom, ReadFromUnix and ReadMsgUnix from an *OpError to a bare
// io.EOF, and these still returned the *OpError.
func TestUnixEOFAsNet(t *testing.T) {
	start(t, 2)
	reads := []struct {
		name string
		read func(c unixIO) error
	}{
		{"Read", func(c unixIO) error { _, err := c.Read(make([]byte, 1)); return err }},
		{"ReadFrom", func(c unixIO) error { _, _, err := c.ReadFrom(make([]byte, 1)); return err }},
		{"ReadFromUnix", func(c unixIO) error { _, _, err := c.ReadFromUnix(make([]byte, 1)); return err }},
		{"ReadMsgUnix", func(c unixIO) error {
			_, _, _, _, err := c.ReadMsgUnix(make([]byte, 1), make([]byte, 64))
			return err
		}},
	}
	for _, network := range []string{"unix", "unixpacket"} {
		at := unixAt(network, unixName(t, "s"))
		nl := testenv.Closing(t, testenv.Must(net.ListenUnix(network, at)))
		ended := func(dial func() (unixIO, error)) unixIO { // a connection whose peer has closed
			c := testenv.Closing(t, testenv.Must(dial()))
			peer := testenv.Must(nl.Accept())
			peer.Close()
			return c
		}
		theirs := ended(func() (unixIO, error) { return net.DialUnix(network, nil, at) })
		ours := ended(func() (unixIO, error) { return socket.DialUnix(network, nil, at) })
		for _, r := range reads {
			want := r.read(theirs)
			for _, p := range testrun.Places {
				p.Do(t, func() {
					got := r.read(ours)
					if !errors.Is(got, io.EOF) || (got == io.EOF) != (want == io.EOF) || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
						t.Errorf("%s of %s in a %s: %T %v, want %T %v", r.name, network, p.Name, got, got, want, want)
					}
				})
			}
		}
	}
}
