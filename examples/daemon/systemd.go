package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// notifier reports the state of the service to systemd, as sd_notify(3) does: a
// datagram of lines to a unix socket. A nil one does nothing.
type notifier struct {
	addr     *net.UnixAddr
	watchdog time.Duration // how often systemd wants to hear of us; 0: it does not
}

// newNotifier takes the variables out of the environment, since they are not
// for children.
func newNotifier() (*notifier, error) {
	name, usec, pid := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC"),
		os.Getenv("WATCHDOG_PID")
	for _, v := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		os.Unsetenv(v)
	}
	if name == "" {
		return nil, nil
	}
	// A leading @ is an abstract name to package net too.
	if name[0] != '/' && name[0] != '@' {
		return nil, fmt.Errorf("NOTIFY_SOCKET is %q, want a path or an abstract name", name)
	}
	n := &notifier{addr: &net.UnixAddr{Name: name, Net: "unixgram"}}
	if usec == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return n, nil
	}
	us, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || us <= 0 {
		return nil, fmt.Errorf("WATCHDOG_USEC is %q, want a number of microseconds", usec)
	}
	n.watchdog = time.Duration(us) * time.Microsecond
	return n, nil
}

// send sends lines such as READY=1.
func (n *notifier) send(lines ...string) error {
	if n == nil {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, n.addr) //netco-vet:ok does not wait
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetWriteDeadline(time.Now().Add(time.Second))
	_, err = c.Write([]byte(strings.Join(lines, "\n"))) //netco-vet:ok rare, at most a second
	return err
}

// feed reports to systemd's watchdog that all is well, as long as it is, until
// ctx ends. Without a word for WatchdogSec= systemd kills the service and
// starts it anew. It is for an ordinary goroutine: one on a Processor could not
// report that this Processor stands.
func (n *notifier) feed(ctx context.Context, well func() error) {
	if n == nil || n.watchdog == 0 {
		return
	}
	tick := time.NewTicker(n.watchdog / 3)
	defer tick.Stop()
	for {
		if err := well(); err == nil {
			n.send("WATCHDOG=1")
		} else {
			n.send("STATUS=" + err.Error())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
