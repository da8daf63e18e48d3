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
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
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
		log.Fatal("cond: ", err)
	}
}

func run(ctx context.Context, w io.Writer, n int, every, patience time.Duration) error {
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	// The context has ended by then, so waits end at once.
	defer context.AfterFunc(ctx, func() { netco.Shutdown(ctx) })()
	q := new(queue)
	q.more = sync.NewCond(&q.mu)
	var failed error
	err := netco.Run(func() {
		if ctx.Err() != nil {
			return // this is another scheduler than the one that was ended
		}
		for _, f := range []func(){
			func() { q.consume(w, n, patience) }, func() { q.produce(w, n, every) },
		} {
			if _, failed = netco.GoWith(netco.Spawn{Local: true, Fn: f}); failed != nil {
				return
			}
		}
	})
	return errors.Join(err, failed)
}

// queue is a first-in-first-out queue without a limit.
type queue struct {
	mu    sync.Mutex
	more  *sync.Cond // with mu: there is another task
	tasks []int      // under mu
}

func (q *queue) produce(w io.Writer, n int, every time.Duration) {
	for id := 0; n == 0 || id < n; id++ {
		fmt.Fprintln(w, "produce task", id)
		q.mu.Lock()
		q.tasks = append(q.tasks, id)
		q.mu.Unlock()
		q.more.Signal()
		netco.Sleep(every)
	}
}

func (q *queue) consume(w io.Writer, n int, patience time.Duration) {
	for done := 0; n == 0 || done < n; {
		id, err := q.take(patience)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			fmt.Fprintln(w, "no task for", patience)
		case err != nil: // ErrShutdown
			fmt.Fprintln(w, "consumer:", err)
			return
		default:
			fmt.Fprintln(w, "consume task", id)
			done++
		}
	}
}

// take returns the next task, or the error of a wait that was too long.
func (q *queue) take(patience time.Duration) (id int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 {
		if err := q.more.WaitTimeout(patience); err != nil {
			return 0, err
		}
	}
	id, q.tasks = q.tasks[0], q.tasks[1:]
	return id, nil
}
