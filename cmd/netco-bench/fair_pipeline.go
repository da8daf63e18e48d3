package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A pipeliner is a connection that sends small requests without waiting for
// their answers, each of which costs the server some time: it is measured
// beside the pings in place of the firehose.
type pipeliner struct {
	cfg    *fairConfig
	way    string // one of pipelineWays
	cost   time.Duration
	served uint64
}

// request is what the pipelining client sends; the line's end belongs to it.
const request = "get key:00000017\n"

const answer = "+OK\r\n"

// pipelineWays are the ways to serve the connection that pipelines.
var pipelineWays = []string{"Buffered", "Server", "bufio"}

// one reads a request, takes its time and writes the answer.
func (p *pipeliner) one(w io.Writer, line func() ([]byte, error)) error {
	if _, err := line(); err != nil {
		return err
	}
	if p.cost > 0 {
		for end := monotonic() + int64(p.cost); monotonic() < end; {
		}
	}
	p.served++
	_, err := io.WriteString(w, answer)
	return err
}

// serve answers what comes on a connection until it ends. server is used if
// that is p's way.
func (p *pipeliner) serve(server *socket.Server, c socket.Stream) error {
	b := socket.NewBuffered(c)
	w, line := io.Writer(b), b.ReadLine
	switch p.way {
	case "Server":
		return server.ServeConn(c, nil)
	case "bufio":
		r, buffered := bufio.NewReader(c), bufio.NewWriter(c)
		w = buffered
		line = func() ([]byte, error) {
			if r.Buffered() == 0 {
				if err := buffered.Flush(); err != nil {
					return nil, err
				}
			}
			return r.ReadSlice('\n')
		}
	}
	_, err := netco.Go(func() {
		defer c.Close()
		for p.one(w, line) == nil {
		}
	})
	return err
}

// start has a connection served whose other end sends requests as fast as they
// are taken, and drops the answers. stop ends it.
func (p *pipeliner) start(ctx context.Context, f *fairServer) (stop func() error, err error) {
	f.beside = func() float64 { return float64(p.served) }
	server := &socket.Server{
		Opened: func(c *socket.ServerConn) error {
			c.Value = socket.NewBuffered(c.Stream)
			return nil
		},
		Handle: func(c *socket.ServerConn) error {
			b := c.Value.(*socket.Buffered)
			for {
				if err := p.one(b, b.ReadLine); err != nil {
					return err
				}
				if b.Buffered() == 0 {
					return b.Flush()
				}
			}
		},
	}
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	fd, err := connect(l.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, err
	}
	c, err := l.Accept()
	if err == nil {
		err = p.serve(server, c.(socket.Stream))
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	ended := make(chan error, 2)
	p.cfg.onThread(ended, func() error {
		for block := bytes.Repeat([]byte(request), 4096); ; {
			if n, err := unix.Write(fd, block); err != nil {
				return err
			} else if n < len(block) {
				if _, err := unix.Write(fd, block[n:]); err != nil { // so that requests stay whole
					return err
				}
			}
		}
	})
	p.cfg.onThread(ended, func() error {
		for b := make([]byte, 64<<10); ; {
			if n, err := unix.Read(fd, b); err != nil || n == 0 {
				return err
			}
		}
	})
	return func() (err error) {
		unix.Shutdown(fd, unix.SHUT_RDWR)
		for range 2 {
			if e := <-ended; e != nil && !errors.Is(e, unix.EPIPE) &&
				!errors.Is(e, unix.ECONNRESET) {
				err = errors.Join(err, os.NewSyscallError("the client that pipelines", e))
			}
		}
		return errors.Join(err, unix.Close(fd), server.Shutdown(ctx))
	}, nil
}
