// Command get asks a server of net/http for a small page, again and again, from
// many coroutines by netco/net/http's client or from as many goroutines by
// net/http's, and prints what each request costs the client. bench/get.sh runs
// it.
//
//	get serve ADDRESS
//	get net|netco ADDRESS [CONCURRENCY [SECONDS]]
package main

import (
	"fmt"
	"io"
	stdhttp "net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net/http"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "get:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: get serve|net|netco ADDRESS [CONCURRENCY [SECONDS]]")
	}
	numbers := []int{64, 3}
	for i, arg := range args[2:] {
		n, err := strconv.Atoi(arg)
		if err != nil || i >= len(numbers) {
			return fmt.Errorf("bad argument %q", arg)
		}
		numbers[i] = n
	}
	c := &crowd{url: "http://" + args[1] + "/", size: numbers[0]}
	switch args[0] {
	case "serve":
		return stdhttp.ListenAndServe(args[1], stdhttp.HandlerFunc(hello))
	case "net":
		client := &stdhttp.Client{Transport: &stdhttp.Transport{MaxIdleConnsPerHost: c.size}}
		c.start = func(f func()) { go f() }
		c.get = client.Get
	case "netco":
		err := netco.Start(netco.Options{Processors: runtime.GOMAXPROCS(0), Quiet: true})
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: c.size}}
		c.start = func(f func()) { netco.Go(f) }
		c.get = client.Get
	default:
		return fmt.Errorf("unknown client %q", args[0])
	}
	rate, cost, err := c.measure(time.Duration(numbers[1]) * time.Second)
	if err == nil {
		fmt.Printf("%-6s %8.0f req/s %7.2f CPU µs/req\n", args[0], rate, cost)
	}
	return err
}

func hello(w stdhttp.ResponseWriter, _ *stdhttp.Request) { io.WriteString(w, "hello, world") }

// crowd is those who ask at a time.
type crowd struct {
	url   string
	size  int
	start func(func())
	get   func(string) (*stdhttp.Response, error)

	done   atomic.Int64
	stop   atomic.Bool
	failed atomic.Pointer[error]
}

func (c *crowd) ask() {
	for !c.stop.Load() {
		r, err := c.get(c.url)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		if err != nil {
			c.failed.Store(&err)
			return
		}
		c.done.Add(1)
	}
}

// measure returns requests a second, and the process's CPU time for one, in µs.
func (c *crowd) measure(d time.Duration) (rate, cost float64, err error) {
	var all sync.WaitGroup
	all.Add(c.size)
	for range c.size {
		c.start(func() { defer all.Done(); c.ask() })
	}
	time.Sleep(500 * time.Millisecond) // connections are made
	used, n, begin := cpu(), c.done.Load(), time.Now()
	time.Sleep(d)
	used, n = cpu()-used, c.done.Load()-n
	rate = float64(n) / time.Since(begin).Seconds()
	c.stop.Store(true)
	all.Wait()
	if err := c.failed.Load(); err != nil {
		return 0, 0, *err
	}
	return rate, float64(used.Nanoseconds()) / 1000 / float64(n), nil
}

// cpu is the CPU time of the process.
func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
