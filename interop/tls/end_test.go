package tls

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/interop/internal/certs"
	"github.com/netco-go/netco/interop/internal/place"
)

// cutConn leaves out the last byte of what is written once cut is set.
type cutConn struct {
	net.Conn
	cut bool
}

func (c *cutConn) Write(p []byte) (int, error) {
	if !c.cut {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:len(p)-1])
	return n + 1, err
}

// TestTruncation: the end of TCP's stream within a record is io.ErrUnexpectedEOF.
func TestTruncation(t *testing.T) {
	between(t, func(t *testing.T, server, client place.Place) {
		ln := listen(t)
		scfg, ccfg := certs.Configs(t)
		waitServer := serve(server, ln, func(raw net.Conn) error {
			cutter := &cutConn{Conn: raw}
			c := tls.Server(cutter, scfg)
			if _, err := c.Write([]byte("whole")); err != nil {
				return err
			}
			cutter.cut = true
			_, err := c.Write([]byte("cut"))
			return err
		})
		waitClient := client.Go(func() error {
			raw, err := dial(ln)
			if err != nil {
				return err
			}
			c := tls.Client(raw, ccfg)
			defer c.Close()
			if got, err := io.ReadAll(c); string(got) != "whole" || err != io.ErrUnexpectedEOF {
				return fmt.Errorf("read %q, %v", got, err)
			}
			return nil
		})
		if err := errors.Join(waitClient(), waitServer()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestReadDeadline: a Read that has timed out leaves the connection usable.
func TestReadDeadline(t *testing.T) {
	between(t, func(t *testing.T, server, client place.Place) {
		ln := listen(t)
		scfg, ccfg := certs.Configs(t)
		waitServer := serve(server, ln, func(raw net.Conn) error {
			c := tls.Server(raw, scfg)
			_, err := io.Copy(c, c)
			return err
		})
		waitClient := client.Go(func() error {
			raw, err := dial(ln)
			if err != nil {
				return err
			}
			c := tls.Client(raw, ccfg)
			defer c.Close()
			if err := c.Handshake(); err != nil {
				return err
			}
			buf := make([]byte, 4)
			for range 5 {
				c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
					return fmt.Errorf("Read of nothing: %w", err)
				}
				c.SetReadDeadline(time.Time{})
				if _, err := io.WriteString(c, "echo"); err != nil {
					return err
				}
				if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "echo" {
					return fmt.Errorf("after a timeout: read %q, %w", buf, err)
				}
			}
			return nil
		})
		if err := errors.Join(waitClient(), waitServer()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCloseEndsRead: Close, from wherever, ends a Read under way with net.ErrClosed.
func TestCloseEndsRead(t *testing.T) {
	between(t, func(t *testing.T, server, client place.Place) {
		ln := listen(t)
		scfg, ccfg := certs.Configs(t)
		conns := make(chan *tls.Conn, 1)
		waitServer := serve(server, ln, func(raw net.Conn) error {
			c := tls.Server(raw, scfg)
			if err := c.Handshake(); err != nil {
				return err
			}
			conns <- c
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("Read: %w", err)
			}
			return nil
		})
		raw, err := dial(ln)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if err := tls.Client(raw, ccfg).Handshake(); err != nil {
			t.Fatal(err)
		}
		c := <-conns
		client.Do(t, c.Close)
		if err := waitServer(); err != nil {
			t.Error(err)
		}
	})
}

// announcingConn tells of its writes once told is set.
type announcingConn struct {
	net.Conn
	told chan struct{}
}

func (c *announcingConn) Write(p []byte) (int, error) {
	if c.told != nil {
		close(c.told)
		c.told = nil
	}
	return c.Conn.Write(p)
}

// TestReaderMeetsWriter: when crypto/tls reads what it must refuse, the reader sends an alert, for which it waits on a mutex
// that a writer holds while it writes; the writer has a deadline. Where Processors are held up, that would be the end on one: the
// writer's thread would be blocked, and its deadline with it.
func TestReaderMeetsWriter(t *testing.T) {
	for _, processors := range []int{1, 2} {
		if processors > 1 || place.GoesOn() {
			t.Run(fmt.Sprint(processors, " Processors"), func(t *testing.T) {
				readerMeetsWriter(t, processors)
			})
		}
	}
}

func readerMeetsWriter(t *testing.T, processors int) {
	place.Start(t, processors)
	ln := listen(t)
	scfg, ccfg := certs.Configs(t)
	raw, err := dial(ln)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	writing := make(chan struct{})
	wait := serve(place.Goroutine, ln, func(c net.Conn) error {
		announcing := &announcingConn{Conn: c}
		server := tls.Server(announcing, scfg)
		if err := server.Handshake(); err != nil {
			return err
		}
		announcing.told = writing
		server.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		ended := make(chan error, 2)
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
			_, err := server.Write(make([]byte, 64<<20))
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = nil
			} else {
				err = fmt.Errorf("Write to a peer that does not read: %w", err)
			}
			ended <- err
		}})
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(processors - 1), Fn: func() {
			_, err := server.Read(make([]byte, 1))
			if err == nil || err == io.EOF {
				err = fmt.Errorf("Read of what is no record: %v", err)
			} else {
				err = nil
			}
			ended <- err
		}})
		return errors.Join(<-ended, <-ended)
	})
	if err := tls.Client(raw, ccfg).Handshake(); err != nil {
		t.Fatal(err)
	}
	<-writing
	if _, err := io.WriteString(raw, "\x17\x03\x03\x00\x20"+string(make([]byte, 32))); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}
