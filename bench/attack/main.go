// Command attack attacks a server of HTTP, or a TLS server that sends back what
// it is sent, until it is ended, and then prints how many attacks the server has
// ended, how many have sent all they had, and how many have failed.
//
//	attack [-at-once 1] [-every 100ms] ATTACK ADDRESS
//
// The attacks are those of http.go, and of tls.go locks, and handshake to
// compare it with. bench/attacks.sh and bench/tls.sh measure other clients of the
// server meanwhile.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long the end of a connection, or a handshake, may take.
const patience = 10 * time.Second

func main() {
	atOnce := flag.Int("at-once", 1, "attackers at a time")
	every := flag.Duration("every", 100*time.Millisecond, "between two attacks")
	flag.Parse()
	visit := visitor(flag.Arg(0))
	if flag.NArg() != 2 || visit == nil || *atOnce < 1 || *every <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGINT, syscall.SIGTERM)
	var ended, sent, failed atomic.Int64
	for tick := time.Tick(*every); ; {
		select {
		case <-over:
			fmt.Println(ended.Load(), sent.Load(), failed.Load())
			return
		case <-tick:
		}
		for range *atOnce {
			go func() {
				switch all, err := visit(flag.Arg(1)); {
				case all:
					sent.Add(1)
				case err == nil:
					ended.Add(1)
				case !errors.Is(err, syscall.ECONNREFUSED): // it does not serve yet
					failed.Add(1)
				}
			}()
		}
	}
}

// visitor returns what makes an attack of that name once, nil if there is none.
func visitor(name string) func(address string) (all bool, err error) {
	switch name {
	case "handshake":
		return func(address string) (bool, error) { return false, handshake(address) }
	case "locks":
		return func(address string) (bool, error) {
			return false, attackLocks(address, func() { time.Sleep(hold) })
		}
	}
	if a, known := attacks[name]; known {
		return a.run
	}
	return nil
}
