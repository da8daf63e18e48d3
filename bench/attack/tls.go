package main

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

const (
	// much is more than the server's and this side's kernel take, and less than
	// what the server reads ahead.
	much = 256 << 10
	// pause is for the server to write until it waits.
	pause = 5 * time.Millisecond
	// hold is how long the server's Write waits.
	hold = time.Second
	// garbage is a record that cannot be decrypted.
	garbage = "\x17\x03\x03\x00\x20this record was never encrypted."
)

// handshake shakes hands and closes.
func handshake(address string) error {
	raw, c, err := dial(address)
	if err != nil {
		return err
	}
	defer raw.Close()
	return c.Handshake()
}

// attackLocks attacks the locks of a connection: it shakes hands, sends much and
// reads nothing, so that a Write of the server waits, and then sends a record
// that is garbage. The Read beside that Write has an alert to send. It returns
// nil if the server ends the connection when the Write goes on, once wait has
// returned.
func attackLocks(address string, wait func()) error {
	raw, c, err := dial(address)
	if err != nil {
		return err
	}
	defer raw.Close()
	if _, err := c.Write(make([]byte, much)); err != nil {
		return err
	}
	time.Sleep(pause)
	if _, err := io.WriteString(raw, garbage); err != nil {
		return err
	}
	wait()
	raw.SetDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

func dial(address string) (net.Conn, *tls.Conn, error) {
	raw, err := net.Dial("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	raw.SetDeadline(time.Now().Add(patience))
	raw.(*net.TCPConn).SetReadBuffer(4 << 10)
	return raw, tls.Client(raw, &tls.Config{InsecureSkipVerify: true}), nil
}
