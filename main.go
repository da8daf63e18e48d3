package netco

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/serving"
	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/processor"
)

// Results of Main, for os.Exit. After a second signal it is 128 plus the
// signal's number, as in a shell.
const (
	ExitOK     = 0 // everything has ended by itself
	ExitFailed = 1 // the Scheduler could not be started, or main has failed
	ExitStuck  = 2 // a deadlock, see ErrDeadlock, as where Go's runtime finds one
	ExitForced = 3 // coroutines were ended by force after the grace; their deferred calls have run
	ExitLeft   = 4 // some coroutines have not ended even then
)

// MainOptions are the settings of [Main]. The zero value is useful.
type MainOptions struct {
	// Options are those of the default Scheduler.
	Options Options

	// Grace is how long coroutines get to end by themselves after the first
	// signal; default 10 s, negative: not at all.
	Grace time.Duration

	// Signals are the signals that end the program; default SIGINT and SIGTERM.
	Signals []os.Signal

	// Draining, if it is not nil, is called on an ordinary goroutine when the
	// end begins, before Shutdown begins: the place to notify a load balancer.
	// why is the cause: the signal, main's error, or nil when nothing is left
	// to run. Grace begins when it has returned.
	Draining func(why error)
}

const defaultGrace = 10 * time.Second

// SignalError is the cause of an end by a signal.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "netco: " + e.Signal.String() }

var errMainEnded = errors.New("netco: main has panicked or called Goexit")

// Main runs a daemon, from its start to the exit code:
//
//	func main() { os.Exit(netco.Main(serve, netco.MainOptions{})) }
//
// It starts the default Scheduler and runs main as a coroutine. When main has
// returned nil, the program goes on as long as coroutines live. It ends when
// none does, when main returns an error, or by a signal:
//
//  1. The first signal ends main's context and begins [Shutdown]: accepts
//     return ErrShutdown, idle connections of Servers are closed, handlers of
//     [Serve] that wait for a request get ErrShutdown, the other coroutines may
//     end by themselves. When Grace is over the remaining coroutines are ended
//     by force.
//  2. A second signal ends the program at once: Main returns, and os.Exit cuts
//     off the coroutines.
//
// A signal while the program ends for another reason counts as the second.
//
// Main writes the error to stderr, or to Options.Logger if that is set, and the
// first 20 coroutines that were ended by force. After a signal ErrShutdown,
// context.Canceled, the context's cause and http.ErrServerClosed do not count
// as errors. Blocks. Call Main on an ordinary goroutine, before anything else
// starts the default Scheduler.
//
//go:noinline
func Main(main func(ctx context.Context) error, o MainOptions) int {
	site := asm.CallerPC()
	if main == nil {
		panic("netco: Main without a function")
	}
	signals := make(chan os.Signal, 2)
	if len(o.Signals) == 0 {
		o.Signals = []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	}
	signal.Notify(signals, o.Signals...) // before anything starts that a signal has to end
	defer signal.Stop(signals)
	s, err := startDefault(o.Options)
	if err != nil {
		o.report(err)
		return ExitFailed
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan error, 2) // main's error if there is one, and then Run's result
	go func() {
		// s.Run, not Run: after the end of s, Run would start another
		// Scheduler.
		ended <- s.Run(coroutine.SpawnAt(func() {
			err := errMainEnded
			defer func() {
				if err == errMainEnded && Stopping() {
					err = ErrShutdown // a forced end unwinds main as Goexit does
				}
				if err != nil {
					ended <- err
				}
			}()
			err = main(ctx)
		}, site))
	}()
	why := o.await(signals, ended)
	code := o.end(why, cancel, signals)
	select {
	case err := <-ended: // after the signal
		if err != nil && !errors.Is(err, ErrShutdown) && !errors.Is(err, context.Canceled) &&
			!errors.Is(err, why) && !errors.Is(err, ErrDeadlock) && !serving.IsEnd(err) &&
			code < 128 {
			o.report(err)
			return max(code, ExitFailed)
		}
	default:
	}
	return code
}

// await returns why the end begins: nil, the error of main or of running it, or
// a signal.
func (o *MainOptions) await(signals <-chan os.Signal, ended <-chan error) error {
	defer stacks.Bystander()() // a signal ends the program, and no coroutine's wait before
	select {
	case err := <-ended:
		return err
	case sig := <-signals:
		return &SignalError{sig}
	}
}

// end ends the program for the reason why and returns the exit code.
func (o *MainOptions) end(why error, cancel func(error), signals <-chan os.Signal) int {
	var sig *SignalError
	code := ExitOK
	stuck := errors.Is(why, ErrDeadlock)
	switch {
	case stuck:
		o.report(why)
		code = ExitStuck
	case why != nil && !errors.As(why, &sig):
		o.report(why)
		code = ExitFailed
	}
	over := make(chan int, 1)
	go func() {
		if o.Draining != nil {
			o.Draining(why)
		}
		cancel(why)
		over <- o.shutdown(stuck)
	}()
	defer stacks.Bystander()()
	for {
		select {
		case forced := <-over:
			return max(code, forced)
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				return 128 + int(number)
			}
			return ExitLeft
		}
	}
}

// shutdown ends the default Scheduler and returns the exit code for how it
// went. Coroutines that are stuck get no grace, and shutdown does not report
// them again.
func (o *MainOptions) shutdown(stuck bool) int {
	grace := o.Grace
	switch {
	case stuck:
		grace = -1
	case grace == 0:
		grace = defaultGrace
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(grace, 0))
	defer cancel()
	err := Shutdown(ctx)
	switch {
	case err == nil || stuck:
		return ExitOK
	case err == ctx.Err(): // ctx's own error: when coroutines are left, an error wraps it
		return ExitForced
	default:
		o.report(err)
		return ExitLeft
	}
}

// report writes an error to the logger or stderr.
func (o *MainOptions) report(err error) {
	if l := o.Options.Logger; l != nil {
		l.Error("main has failed", zap.Error(err))
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
}

// KeepServing is a function for Options.OnPanic with which a panic ends only
// its own coroutine:
//
//	netco.Start(netco.Options{OnPanic: netco.KeepServing, Logger: l})
//
// The Scheduler logs the panic with its stack, and counts it
// (coroutine.Stats.Panics), before it calls OnPanic; without a Logger that
// takes errors KeepServing writes it to stderr. Deferred calls have run by
// then, so connections that the coroutine closes by defer are closed. A Server
// closes its connections itself, and calls Closed.
//
// The coroutine's other state stays as it is: a lock that is not unlocked by
// defer stays locked, a Buffer not released by defer stays in use, and data
// that the coroutine was changing stay half changed. So lock and defer Unlock,
// or let panics end the program, which is the default.
func KeepServing(p PanicInfo) {
	if processor.CurrentLogger().Core().Enabled(zap.ErrorLevel) {
		return
	}
	name := ""
	if p.Name != "" {
		name = fmt.Sprintf(" %q", p.Name)
	}
	fmt.Fprintf(os.Stderr, "netco: panic in coroutine %d%s on processor %d: %v\n\n%s\n",
		p.Coroutine, name, p.Processor, p.Value, p.Stack)
}
