package socket_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// mixed are connections between package net or os and this one, each with a
// function of this package's that takes one byte and one that puts one.
var mixed = []struct {
	name string
	open func(t *testing.T) (theirs io.ReadWriter, take, put func() error)
}{
	{"tcp", func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, mine := mixedPair(t, "tcp", "127.0.0.1:0")
		take, put = bytewise(mine)
		return theirs, take, put
	}},
	{"pieces", func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, mine := mixedPair(t, "tcp", "127.0.0.1:0")
		take, _ = bytewise(mine)
		return theirs, take, func() error {
			_, err := mine.(*socket.TCPConn).WriteBuffers(&net.Buffers{{1}, {}})
			return err
		}
	}},
	{"sendfile", func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, mine := mixedPair(t, "tcp", "127.0.0.1:0")
		f, err := os.Create(filepath.Join(t.TempDir(), "one"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		f.Write([]byte{1})
		f.Seek(0, io.SeekStart)
		take, _ = bytewise(mine)
		return theirs, take, func() error {
			_, err := io.CopyN(mine, f, 1)
			return err
		}
	}},
	{"unix", func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, mine := mixedPair(t, "unix", filepath.Join(t.TempDir(), "s"))
		take, put = bytewise(mine)
		return theirs, take, put
	}},
	{"messages", func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, c := mixedPair(t, "unix", filepath.Join(t.TempDir(), "s"))
		mine := c.(*socket.UnixConn)
		return theirs, func() error {
				_, _, _, _, err := mine.ReadMsgUnix(make([]byte, 1), make([]byte, 1))
				return err
			}, func() error {
				_, _, err := mine.WriteMsgUnix([]byte{1}, nil, nil)
				return err
			}
	}},
	{"file", func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		var ends [4]*os.File // of two pipes
		for i := range 2 {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			ends[2*i], ends[2*i+1] = r, w
			t.Cleanup(func() { r.Close(); w.Close() })
		}
		var mine [2]*socket.File
		for i, f := range []*os.File{ends[0], ends[3]} {
			var err error
			if mine[i], err = socket.NewFile(f); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { mine[i].Close() })
		}
		take, _ = bytewise(mine[0])
		_, put = bytewise(mine[1])
		return struct {
			io.Reader
			io.Writer
		}{ends[2], ends[1]}, take, put
	}},
}

// mixedPair connects package net with this one.
func mixedPair(t *testing.T, network, address string) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mine, err := socket.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mine.Close() })
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return theirs, mine
}

func bytewise(c io.ReadWriter) (take, put func() error) {
	take = func() error { _, err := c.Read(make([]byte, 1)); return err }
	put = func() error { _, err := c.Write([]byte{1}); return err }
	return take, put
}

// TestMixedIsOrdered: a write of package net's or os's comes before the read of
// this package's that it enables, and the other way round. Under -race what the
// detector is not informed of that is a failure.
func TestMixedIsOrdered(t *testing.T) {
	for _, c := range mixed {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				testrun.Start(t, 2)
				theirs, take, put := c.open(t)
				takeTheirs, putTheirs := bytewise(theirs)
				steps := 0
				k := p.Go(func() {
					if err := take(); err != nil {
						t.Error(err)
					}
					steps++
					if err := put(); err != nil {
						t.Error(err)
					}
				})
				steps++
				if err := putTheirs(); err != nil {
					t.Error(err)
				}
				if err := takeTheirs(); err != nil {
					t.Error(err)
				}
				steps++
				k.Wait(t)
				if steps != 3 {
					t.Errorf("%d steps", steps)
				}
			})
		}
	}
}
