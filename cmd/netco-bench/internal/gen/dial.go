package gen

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/socket"
)

// waiter is a connection of netco's, which can be waited for without a buffer.
type waiter interface {
	net.Conn
	WaitReadable() error
}

// dialed is a connection with its handshakes behind it, and how long these
// took, in ns.
type dialed struct {
	net.Conn        // TLS, or raw
	raw      waiter // below TLS
	connect  int64
	tls      int64 // 0 without TLS
}

// dial opens a connection. It parks.
func (p *plan) dial() (*dialed, error) {
	start := clock.Now()
	raw, err := dialRaw(p.target, p.cfg.Timeout)
	if err != nil {
		return nil, err
	}
	d := &dialed{Conn: raw, raw: raw, connect: clock.Now() - start}
	if p.tls == nil && p.upgrade == nil {
		return d, nil
	}
	if err := p.shake(d); err != nil {
		raw.Close()
		return nil, err
	}
	return d, nil
}

func dialRaw(t *Target, timeout time.Duration) (waiter, error) {
	// No keep-alive probes: they would be two system calls more.
	d := socket.Dialer{Timeout: timeout, KeepAlive: -1}
	switch t.Network {
	case "unix":
		return d.DialUnix(context.Background(), "unix", nil,
			&net.UnixAddr{Name: t.Path, Net: "unix"})
	case "udp":
		return d.DialUDP(context.Background(), "udp", netip.AddrPort{}, t.Addr)
	}
	return d.DialTCP(context.Background(), "tcp", netip.AddrPort{}, t.Addr)
}

// shake makes the handshakes of TLS and WebSocket.
func (p *plan) shake(d *dialed) error {
	if err := d.raw.SetDeadline(time.Now().Add(p.cfg.Timeout)); err != nil {
		return err
	}
	if p.tls != nil {
		start := clock.Now()
		c := tls.Client(d.raw, p.tls)
		if err := c.Handshake(); err != nil {
			return fmt.Errorf("TLS handshake: %w", err)
		}
		d.Conn, d.tls = c, clock.Now()-start
	}
	if p.upgrade != nil {
		if err := upgrade(d.Conn, p.upgrade); err != nil {
			return fmt.Errorf("WebSocket handshake: %w", err)
		}
	}
	return d.raw.SetDeadline(time.Time{})
}

// wsGUID is what a server appends to the key it is to prove to have read.
const wsGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

const wsKeyHeader = "Sec-WebSocket-Key: "

func upgradeRequest(cfg *Config, t *Target) []byte {
	var key [16]byte
	rand.Read(key[:])
	host := cfg.Host
	if host == "" {
		host = t.HostPort
	}
	lines := []string{
		"GET " + t.Request + " HTTP/1.1", "Host: " + host, "Upgrade: websocket",
		"Connection: Upgrade",
		"Sec-WebSocket-Version: 13", wsKeyHeader + base64.StdEncoding.EncodeToString(key[:]),
	}
	return []byte(strings.Join(append(lines, cfg.Header...), "\r\n") + "\r\n\r\n")
}

// upgrade asks for WebSocket, and reads the answer byte by byte: a frame may
// follow it at once.
func upgrade(c net.Conn, request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	var head []byte
	for b := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(
		head, b[0]) {
		if len(head) > maxUnparsed {
			return wrongf("a head of more than %d bytes", maxUnparsed)
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
	}
	line, n := cutLine(head)
	status, _, err := parseStatus(line)
	if err != nil {
		return err
	}
	if status != 101 {
		return wrongf("the server answers %q", line)
	}
	_, key, _ := bytes.Cut(request, []byte(wsKeyHeader))
	key, _ = cutLine(key)
	sum := sha1.Sum(append(bytes.Clone(key), wsGUID...))
	want := base64.StdEncoding.EncodeToString(sum[:])
	for rest := head[n:]; ; rest = rest[n:] {
		if line, n = cutLine(rest); len(line) == 0 {
			return wrongf("no Sec-WebSocket-Accept in the answer")
		}
		if v, ok := header(line, "sec-websocket-accept"); ok {
			if string(v) != want {
				return wrongf("Sec-WebSocket-Accept is %q, want %q", v, want)
			}
			return nil
		}
	}
}

// count adds n failures for err's reason.
func count(e *result.Errors, err error, n uint64) {
	var timeout net.Error
	switch {
	case errors.Is(err, errWrong):
		e.WrongAnswer += n
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		e.Refused += n
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Timeout += n
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errClosed):
		e.Reset += n
	default:
		e.Other += n
	}
}
