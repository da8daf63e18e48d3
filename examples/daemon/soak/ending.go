package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// drained ends the daemon by SIGTERM while one connection is busy and others
// are idle. The busy one must get all that it asked for, the idle ones their
// end; the daemon must say meanwhile that it is not ready, and exit with 0.
func (s *soak) drained() {
	if err := s.drain(); err != nil {
		s.r.fail("drain: %v", err)
	}
}

const (
	idleAtEnd  = 10
	endTime    = 40 * time.Second // less than the daemon's grace
	lastFrames = 16
	// More than a unix socket holds: the connection is busy until its client
	// reads.
	lastSize  = 256 << 10
	lastPause = 10 // ms
)

func (s *soak) drain() error {
	r := rand.New(rand.NewPCG(3, 4))
	var idle []*conn
	for i := range idleAtEnd {
		c, err := dial(s.t, []target{s.d.tcp, s.d.unix}[i%2], r)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.do(echoCall(c.number(), []byte("hello"))); err != nil {
			return err
		}
		idle = append(idle, c)
	}
	busy, err := dial(s.t, s.d.unix, r)
	if err != nil {
		return err
	}
	defer busy.Close()
	last := streamCall(busy.number(), lastFrames, lastSize, lastPause, 5)
	if err := busy.send(last); err != nil {
		return err
	}
	answered := make(chan error, 1)
	began, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	busy.throttle = func(int) {
		once.Do(func() { close(began) })
		<-goOn
	}
	go func() {
		err := busy.receive(last)
		if err == nil {
			err = busy.wantEnd()
		}
		answered <- err
	}()
	select {
	case <-began:
	case err := <-answered:
		return err
	}
	if err := s.d.signal(syscall.SIGTERM); err != nil {
		close(goOn)
		return err
	}
	var wrong []error
	wrong = append(wrong, s.eventually(s.unready))
	for _, c := range idle {
		c.SetDeadline(time.Now().Add(endTime))
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			wrong = append(wrong, fmt.Errorf("an idle connection gets %d bytes, %v, want its end",
				n, err))
		}
	}
	wrong = append(wrong, s.eventually(s.refuses))
	close(goOn)
	if err := <-answered; err != nil {
		wrong = append(wrong, fmt.Errorf("the connection that was busy: %w", err))
	}
	select {
	case <-s.d.exited:
		if s.d.err != nil {
			wrong = append(wrong, fmt.Errorf("the daemon ended with %w\n%s", s.d.err,
				s.d.lastLines()))
		}
	case <-time.After(endTime):
		wrong = append(wrong, errors.New("the daemon does not end"))
	}
	return errors.Join(wrong...)
}

// unready wants the daemon to be alive and not ready.
func (s *soak) unready() error {
	status, body, err := s.d.get("/readyz")
	if err != nil {
		return err
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(string(body), "draining") {
		return fmt.Errorf("/readyz while it drains: %d, %q", status, body)
	}
	_, err = s.d.page("/healthz")
	return err
}

// refuses wants no more connections to be taken.
func (s *soak) refuses() error {
	for _, to := range []target{s.d.tcp, s.d.unix} {
		if c, err := net.Dial(to.network, to.address); err == nil {
			c.Close()
			return fmt.Errorf("it still takes connections on %s", to.network)
		}
	}
	return nil
}
