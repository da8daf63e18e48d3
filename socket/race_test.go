package socket_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// mixed are connections between package net or os and this one, each with a
// function of this package's that takes one byte and one that puts one.
var mixed = map[string]func(t *testing.T) (theirs io.ReadWriter, take, put func() error){
	"tcp": func(t *testing.T) (io.ReadWriter, func() error, func() error) {
		return mixedTCP(t, nil)
	},
	"unix": mixedUnix,
	"pieces": func(t *testing.T) (io.ReadWriter, func() error, func() error) {
		return mixedTCP(t, func(mine net.Conn) error {
			return testenv.Err(mine.(*socket.TCPConn).WriteBuffers(&net.Buffers{{1}, {}}))
		})
	},
	"sendfile": func(t *testing.T) (io.ReadWriter, func() error, func() error) {
		f := fileOf(t, 1)
		return mixedTCP(t, func(mine net.Conn) error { return testenv.Err(io.CopyN(mine, f, 1)) })
	},
	"messages": func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, c := mixedPair(t, "unix", filepath.Join(t.TempDir(), "s"))
		mine := c.(*socket.UnixConn)
		take = func() error {
			_, _, _, _, err := mine.ReadMsgUnix(make([]byte, 1), make([]byte, 1))
			return err
		}
		put = func() error { return err3(mine.WriteMsgUnix([]byte{1}, nil, nil)) }
		return theirs, take, put
	},
	"file": func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		mineIn, theirsOut := pipeOfOS(t)
		theirsIn, mineOut := pipeOfOS(t)
		take, _ = bytewise(testenv.Closing(t, testenv.Must(socket.NewFile(mineIn))))
		_, put = bytewise(testenv.Closing(t, testenv.Must(socket.NewFile(mineOut))))
		return struct {
			io.Reader
			io.Writer
		}{theirsIn, theirsOut}, take, put
	},
}

// mixedTCP puts by the function that it is given, or by Write.
func mixedTCP(t *testing.T, by func(net.Conn) error) (io.ReadWriter, func() error, func() error) {
	theirs, mine := mixedPair(t, "tcp", "127.0.0.1:0")
	take, put := bytewise(mine)
	if by != nil {
		put = func() error { return by(mine) }
	}
	return theirs, take, put
}

func mixedUnix(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
	theirs, mine := mixedPair(t, "unix", filepath.Join(t.TempDir(), "s"))
	take, put = bytewise(mine)
	return theirs, take, put
}

// mixedPair connects package net with this one.
func mixedPair(t *testing.T, network, address string) (theirs, mine net.Conn) {
	t.Helper()
	l := testenv.Must(net.Listen(network, address))
	defer l.Close()
	mine = testenv.Closing(t, testenv.Must(socket.Dial(network, l.Addr().String())))
	return testenv.Closing(t, testenv.Must(l.Accept())), mine
}

func pipeOfOS(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	testenv.OK(t, err)
	return testenv.Closing(t, r), testenv.Closing(t, w)
}

func bytewise(c io.ReadWriter) (take, put func() error) {
	take = func() error { return testenv.Err(c.Read(make([]byte, 1))) }
	put = func() error { return testenv.Err(c.Write([]byte{1})) }
	return take, put
}

// TestMixedIsOrdered: a write of package net's or os's comes before the read of
// this package's that it enables, and the other way round. Under -race what the
// detector is not informed of that is a failure.
func TestMixedIsOrdered(t *testing.T) {
	for name, open := range mixed {
		for _, p := range testrun.Places {
			t.Run(name+"/"+p.Name, func(t *testing.T) {
				testrun.Start(t, 2)
				theirs, take, put := open(t)
				takeTheirs, putTheirs := bytewise(theirs)
				steps := 0
				k := p.Go(func() {
					testenv.NoError(t, take())
					steps++
					testenv.NoError(t, put())
				})
				steps++
				testenv.NoError(t, putTheirs())
				testenv.NoError(t, takeTheirs())
				steps++
				k.Wait(t)
				testenv.Equal(t, steps, 3, "steps")
			})
		}
	}
}
