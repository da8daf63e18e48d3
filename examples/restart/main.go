// Command restart is a daemon that replaces itself without losing a connection.
// It answers each line with its process's number and the line.
//
// SIGHUP makes it start its program anew, a new version perhaps, with the
// listener and a pipe as inherited fds, in the way of systemd's socket
// activation. When the new process has said through the pipe that it is ready,
// the old one stops accepting and ends once its connections have. Both have the
// same socket, so what connects in between waits in one queue and is accepted
// by either. If the new process does not get ready, the old one goes on as if
// nothing had been asked.
//
// SIGINT or SIGTERM ends it: connections get some time to end by themselves.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/activation"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7001", "`address` to listen on, if no listener is "+
		"inherited")
	grace := flag.Duration("grace", 30*time.Second, "how long connections get to end by themselves")
	flag.Parse()
	if err := run(*addr, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "restart:", err)
		os.Exit(1)
	}
}

func run(addr string, grace time.Duration) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	ln, ready, err := listen(addr)
	if err != nil {
		return err
	}
	accepting, err := netco.GoWith(netco.Spawn{Name: "accept", Fn: func() { accept(ln) }})
	if err != nil {
		return err
	}
	fmt.Println(os.Getpid(), "listening on", ln.Addr())
	if ready != nil {
		ready.Write([]byte{1})
		ready.Close()
	}
	for sig := range signals {
		if sig != syscall.SIGHUP {
			break
		}
		if err := handOver(ln); err != nil {
			fmt.Fprintln(os.Stderr, "restart: still here:", err)
			continue
		}
		break
	}
	signal.Stop(signals) // the next one ends the process at once
	ln.Close()
	if err := accepting.Join(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// The names of what is handed over.
const (
	listenerName = "listener"
	readyName    = "ready"
)

// listen returns the listener that was handed over, or a new one. ready, if it
// is not nil, wants a byte when all is set up.
func listen(addr string) (ln *socket.TCPListener, ready *os.File, err error) {
	inherited, err := activation.Files()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range inherited {
		if f.Name() == readyName {
			ready = f
			continue
		}
		l, err := conet.FileListener(f) // of a duplicate; its name is systemd's
		f.Close()
		if err != nil {
			return nil, nil, err
		}
		if tcp, ok := l.(*socket.TCPListener); ok && ln == nil {
			ln = tcp
		} else {
			l.Close()
		}
	}
	if ln == nil {
		l, err := netco.Listen("tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		ln = l.(*socket.TCPListener)
	}
	return ln, ready, nil
}

// startTime is how long a new process has to get ready.
const startTime = 10 * time.Second

// handOver starts a new process with the listener and returns when that is
// ready. It blocks, so it is for an ordinary goroutine.
func handOver(ln *socket.TCPListener) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := ln.File()
	if err != nil {
		return err
	}
	defer file.Close()
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{file, theirs}
	// Without LISTEN_PID: the parent cannot know the number of a process that
	// is not there yet.
	cmd.Env = append(os.Environ(), "LISTEN_FDS=2", "LISTEN_FDNAMES="+listenerName+":"+readyName)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	ready.SetReadDeadline(time.Now().Add(startTime))
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		cmd.Process.Kill()
		return errors.Join(fmt.Errorf("process %d did not get ready: %w", cmd.Process.Pid, err),
			cmd.Wait())
	}
	return cmd.Process.Release()
}

func accept(ln *socket.TCPListener) {
	for {
		c, err := ln.AcceptTCP()
		if err != nil {
			return
		}
		if _, err := netco.Go(func() { answer(c) }); err != nil {
			c.Close()
		}
	}
}

// maxLine is how long a line may be. One without an end would take all memory.
const maxLine = 16 << 10

func answer(c net.Conn) {
	defer c.Close()
	lines := bufio.NewReaderSize(c, maxLine)
	for {
		line, err := lines.ReadSlice('\n') // good until the next read
		if err == bufio.ErrBufferFull {
			fmt.Fprintf(c, "%d a line has more than %d bytes\n", os.Getpid(), maxLine)
		}
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(c, "%d %s\n", os.Getpid(), bytes.TrimSpace(line)); err != nil {
			return
		}
	}
}
