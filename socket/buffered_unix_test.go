package socket_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestBufferedUnix: a Buffered on a Unix stream; one on packets is a mistake.
func TestBufferedUnix(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		path := filepath.Join(t.TempDir(), "s")
		l := testenv.Closing(t, testenv.Must(socket.Listen("unix", path)))
		peer := testenv.Closing(t, testenv.Must(net.Dial("unix", path)))
		c := testenv.Must(l.Accept())
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

		packets := testenv.Closing(t, testenv.Must(socket.ListenUnixgram("unixgram", &net.UnixAddr{Name: path + "g", Net: "unixgram"})))
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		socket.NewBuffered(packets)
	})
}
