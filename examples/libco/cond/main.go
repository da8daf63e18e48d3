// Command cond is libco's example of that name: a producer that makes a task
// every -every and signals, and a consumer that waits for tasks at a condition.
// The consumer says so when none has come for -patience: its wait is bounded,
// and its result says which it was. SIGINT or SIGTERM ends it; so do -n tasks.
//
// A sync.Cond has a lock, as sync.Cond has. libco's has none, because only
// coroutines of one thread can meet there. Here these may be on different
// threads, with goroutines among them. That they are on one, as in libco, is
// Local's doing: so what they print comes in order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
)

func main() {
	n := flag.Int("n", 0, "how many tasks; 0: until it is told to end")
	every := flag.Duration("every", time.Second, "how long the producer takes for a task")
	patience := flag.Duration("patience", 5*time.Second, "how long the consumer waits without a "+
		"word")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *n, *every, *patience); err != nil {
		fmt.Fprintln(os.Stderr, "cond:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, n int, every, patience time.Duration) error {
	if n < 0 || every < 0 || patience <= 0 {
		return fmt.Errorf(
			"-n %d -every %v -patience %v: want no negative number, and some patience", n, every,
			patience)
	}
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	// The context has ended by then, so waits end at once.
	defer context.AfterFunc(ctx, func() { netco.Shutdown(ctx) })()
	q := newQueue()
	var failed error
	err := netco.Run(func() {
		if ctx.Err() != nil {
			return // this is another scheduler than the one that was ended
		}
		if _, failed = netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			consume(w, q, patience)
		}}); failed != nil {
			return
		}
		if _, failed = netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			produce(w, q, n, every)
		}}); failed != nil {
			q.close()
		}
	})
	return errors.Join(err, failed)
}

func produce(w io.Writer, q *queue, n int, every time.Duration) {
	defer q.close()
	for id := 0; n == 0 || id < n; id++ {
		fmt.Fprintln(w, "produce task", id)
		q.put(id)
		netco.Sleep(every)
	}
}

func consume(w io.Writer, q *queue, patience time.Duration) {
	for {
		id, err := q.take(patience)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			fmt.Fprintln(w, "no task for", patience)
		case err != nil: // io.EOF, or ErrShutdown
			fmt.Fprintln(w, "consumer:", err)
			return
		default:
			fmt.Fprintln(w, "consume task", id)
		}
	}
}
