package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	ctxswitch "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/socket"
)

// proxyServerConfig configures a proxy.
type proxyServerConfig struct {
	serveConfig
	Target string
}

// A proxyServer starts listening and forwards in the background until the
// process ends.
type proxyServer func(cfg proxyServerConfig) (addr, backend string, err error)

// proxyServers are the proxies by the name -servers knows them by.
var proxyServers = map[string]proxyServer{
	"netco": proxyNetco,
	"net-copy": func(cfg proxyServerConfig) (string, string, error) {
		return proxyNet(cfg, copyPlain)
	},
	"net-splice": func(cfg proxyServerConfig) (string, string, error) {
		return proxyNet(cfg, io.Copy)
	},
}

// runServeProxy is the child's side of proxy, hidden from the usage.
func runServeProxy(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var cfg proxyServerConfig
	fs := flag.NewFlagSet("serve-proxy", flag.ContinueOnError)
	impl := fs.String("impl", "", "proxy")
	fs.StringVar(&cfg.Target, "target", "", "address to forward to")
	fs.StringVar(&cfg.Host, "addr", "127.0.0.1", "host")
	fs.IntVar(&cfg.Procs, "procs", 0, "GOMAXPROCS")
	fs.IntVar(&cfg.Processors, "processors", 0, "netco's Processors")
	fs.StringVar(&cfg.Spin, "spin", "auto", "auto or off")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	start, ok := proxyServers[*impl]
	if !ok {
		return usagef("unknown proxy %q", *impl)
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	if cfg.Procs > 0 {
		runtime.GOMAXPROCS(cfg.Procs)
	}
	addr, backend, err := start(cfg)
	if err != nil {
		return err
	}
	if err := child.Serve(os.Stdin, stdout,
		child.Hello{Addr: addr, GOMAXPROCS: runtime.GOMAXPROCS(0), Backend: backend}); err != nil {
		fmt.Fprintln(stderr, "serve-proxy:", err)
		return err
	}
	return nil
}

// proxyNetco is the proxy as examples/proxy has it: two coroutines on one
// Processor for each connection.
func proxyNetco(cfg proxyServerConfig) (addr, backend string, err error) {
	o := netco.Options{Processors: cfg.Processors}
	o.NoSpin = cfg.Spin == "off"
	if err := netco.Start(o); err != nil {
		return "", "", err
	}
	ln, err := netco.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
	if err != nil {
		return "", "", err
	}
	if _, err := netco.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				acceptFailed(err)
			}
			if _, err := netco.Go(func() {
				forwardNetco(c.(*socket.TCPConn), cfg.Target)
			}); err != nil {
				c.Close()
				fmt.Fprintln(os.Stderr, "go:", err)
			}
		}
	}); err != nil {
		return "", "", err
	}
	return ln.Addr().String(), ctxswitch.Backend(), nil
}

func forwardNetco(client *socket.TCPConn, target string) {
	defer client.Close()
	c, err := netco.Dial("tcp", target)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dial:", err)
		return
	}
	defer c.Close()
	server := c.(*socket.TCPConn)
	answers, err := netco.GoLocal(func() {
		io.Copy(client, server)
		client.CloseWrite()
	})
	if err != nil {
		return
	}
	io.Copy(server, client)
	server.CloseWrite()
	answers.Join()
}

// proxyNet is the same with goroutines and the standard library, and copy to
// do the work.
func proxyNet(cfg proxyServerConfig, copy func(io.Writer, io.Reader) (int64, error)) (addr,
	backend string, err error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
	if err != nil {
		return "", "", err
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				acceptFailed(err)
			}
			go forwardNet(c.(*net.TCPConn), cfg.Target, copy)
		}
	}()
	return ln.Addr().String(), "", nil
}

func forwardNet(client *net.TCPConn, target string, copy func(io.Writer, io.Reader) (int64,
	error)) {
	defer client.Close()
	c, err := net.Dial("tcp", target)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dial:", err)
		return
	}
	defer c.Close()
	server := c.(*net.TCPConn)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		copy(client, server)
		client.CloseWrite()
	}()
	copy(server, client)
	server.CloseWrite()
	<-answered
}

// copyPlain is io.Copy without the way around it: 32 KiB at a time, read and
// written.
func copyPlain(dst io.Writer, src io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, make([]byte, 32<<10))
}

func acceptFailed(err error) {
	fmt.Fprintln(os.Stderr, "accept:", err)
	os.Exit(exitFailed)
}
