package tls_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/sync"
	"github.com/netco-go/netco/tls"
)

// TestHammer: one coroutine writes and another reads, both under deadlines that
// end them again and again, while the peer updates its keys and demands the
// same, in pieces of records. Every byte arrives, and every answer, once.
func TestHammer(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, p := newPeer(t)
		n := testenv.Rounds(10 << 20)
		up, down := stream(n, 1), stream(n, 2)
		answered := make(chan int, 1)
		demands := 0
		var written sync.WaitGroup
		written.Add(1)
		run(
			func() error {
				defer written.Done()
				return writeUnderDeadlines(server, down)
			},
			func() error {
				err := receive(readerFunc(readUnderDeadlines(server)), up)
				written.Wait()
				return errors.Join(err, server.CloseWrite()) // behind all answers
			},
			func() (err error) {
				demands, err = p.sendUp(up)
				return err
			},
			func() error {
				updates, err := p.receiveDown(down)
				answered <- updates
				return err
			},
		)
		testenv.Equal(t, <-answered, demands, "answers to key updates")
	})
}

// writeUnderDeadlines is send under deadlines of some 100 µs.
func writeUnderDeadlines(c *tls.Conn, p []byte) error {
	rnd := rand.New(rand.NewPCG(3, 3))
	for len(p) > 0 {
		c.SetWriteDeadline(time.Now().Add(time.Duration(rnd.IntN(200)) * time.Microsecond))
		n, err := c.Write(p[:min(len(p), 1+rnd.IntN(100_000))])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		p = p[n:]
	}
	c.SetWriteDeadline(time.Time{})
	return nil
}

func readUnderDeadlines(c *tls.Conn) func([]byte) (int, error) {
	rnd := rand.New(rand.NewPCG(4, 4))
	return func(p []byte) (int, error) {
		for {
			c.SetReadDeadline(time.Now().Add(time.Duration(rnd.IntN(200)) * time.Microsecond))
			if n, err := c.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
				return n, err
			}
		}
	}
}

// sendUp writes data and key updates, in pieces, and close_notify. It returns
// the number of updates.
func (p *peer) sendUp(data []byte) (updates int, err error) {
	rnd := rand.New(rand.NewPCG(5, 5))
	var records []byte
	for len(data) > 0 {
		n := min(len(data), 1+rnd.IntN(16<<10))
		records = append(records, p.record(typeData, data[:n])...)
		data = data[n:]
		if rnd.IntN(4) == 0 {
			records = append(records, p.keyUpdate()...)
			updates++
		}
		piece := rnd.IntN(len(records) + 1)
		if _, err := p.Write(records[:piece]); err != nil {
			return updates, err
		}
		records = records[piece:]
	}
	_, err = p.Write(append(records, p.record(typeAlert, []byte{1, 0})...))
	return updates, err
}

// receiveDown reads want and close_notify. It returns the number of key
// updates.
func (p *peer) receiveDown(want []byte) (updates int, err error) {
	got := bytes.NewBuffer(nil)
	for {
		switch typ, data, err := p.next(); {
		case err == io.EOF || typ == typeAlert:
			if !bytes.Equal(got.Bytes(), want) {
				return updates, fmt.Errorf("%d bytes of %d, or other ones", got.Len(), len(want))
			}
			return updates, nil
		case err != nil:
			return updates, err
		case typ == typeHandshake:
			updates++
		default:
			got.Write(data)
		}
	}
}
