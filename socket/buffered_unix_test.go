package socket_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestBufferedUnix: a Buffered on a Unix stream; one on packets is a mistake.
func TestBufferedUnix(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			path := filepath.Join(t.TempDir(), "s")
			l, err := socket.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			peer, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer peer.Close()
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			k := p.Go(func() {
				b := socket.NewBuffered(c.(*socket.UnixConn))
				defer b.Close()
				answerLines(b)
			})
			for range 3 {
				lines := strings.Repeat("line\n", 100)
				peer.Write([]byte(lines))
				expect(t, peer, lines)
			}
			peer.Close()
			k.Wait(t)

			packets, err := socket.ListenUnixgram("unixgram", &net.UnixAddr{Name: path + "g", Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer packets.Close()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			socket.NewBuffered(packets)
		})
	}
}
