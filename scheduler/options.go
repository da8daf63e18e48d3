package scheduler

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/slogcore"
	"github.com/netco-go/netco/processor"
)

// Options configure a Scheduler. The zero value is useful: each field's zero
// means its default.
type Options struct {
	// Processors is how many Processors run coroutines, each on one thread at a
	// time; default runtime.GOMAXPROCS(0), at most 1024.
	Processors int
	// CPUs, if set, binds Processor i to CPU CPUs[i mod len(CPUs)]. It implies
	// LockThreads.
	CPUs []int
	// MinActive is how many Processors get work however little there is;
	// default 1. Work is spread to more Processors when the active ones are
	// busy, and packed on fewer when they are not. With LockThreads, and where
	// coroutines cannot move, all are active.
	MinActive int
	// LockThreads gives each Processor an OS thread of its own, for libraries
	// that count on threads. By default Processors move among threads, and go
	// on without a coroutine that blocks outside netco; with LockThreads such a
	// coroutine holds up its Processor (README.md, "What blocks a Processor").
	LockThreads bool
	// NoSpin makes idle Processors sleep at once. By default they first poll
	// for events for up to 50 µs while polling has lately found some; never on
	// one core.
	NoSpin bool
	// PoolCap is how many idle goroutines each Processor keeps, with their
	// stacks, for later coroutines; default 1024; negative: none. It ends those
	// that it has not needed for a second.
	PoolCap int
	// BufferSize is the size of a hot buffer in bytes; default 16 KiB, from 512
	// to 16 MiB.
	BufferSize int
	// BufferMemory is how many bytes of hot buffers each Processor has at most,
	// in use or kept; at least BufferSize; default 0: any number in use, and 64
	// buffers kept. At the limit AcquireBuffer waits, and the
	// library's own copies and Buffereds go on with 2 KiB at a time.
	BufferMemory int
	// MaxCoroutines is how many coroutines may live or be on their way; default
	// 0: any number. At the limit Go and its like return ErrTooManyCoroutines,
	// and a Server's connections that have become readable wait. docs/LIMITS.md
	// says what happens to other coroutines that the library starts.
	MaxCoroutines int
	// Logger gets what operators should know. By default nothing is logged; but
	// the first stall and the first handoff of each cause and place, and a
	// deadlock, are reported on stderr, ten in all; and of each forced end the
	// first 20 coroutines that it cuts. The environment variable NETCO_REPORT
	// may say "off", or "all" for every one.
	Logger *zap.Logger
	// Slog is a Logger of the standard library. At most one of Logger and Slog
	// may be set.
	Slog *slog.Logger
	// Quiet leaves out the reports on stderr.
	Quiet bool
	// OnPanic, if set, is called when a coroutine panics, on that coroutine;
	// the coroutine then ends and the program goes on. By default a panic ends
	// the program, as in a goroutine.
	OnPanic func(PanicInfo)
	// Watchdog is how long a turn of a Processor may last before it is a stall;
	// default 100 ms, at least 1 ms; negative: no watchdog. Each stall is
	// counted and in Stalls, and is logged as a warning when it is noticed and
	// again when it is over. Only 10 stalls at once, and then one in 6 seconds,
	// get a warning and a stack, so that reports do not hold up a daemon that
	// stalls all the time. The next warning says how many stalls got none.
	Watchdog time.Duration
	// OnStall, if set, is called for every stall when it is noticed, and again,
	// with Over set, when it has ended. It runs on the watchdog's goroutine, an
	// ordinary goroutine: until it returns no other stall is noticed. Shutdown
	// does not wait for it.
	OnStall func(Stall)
}

// PanicInfo describes a panic to Options.OnPanic.
type PanicInfo = processor.PanicInfo

const (
	maxProcessors     = 1024
	defaultPoolCap    = 1024
	defaultBufferSize = 16 << 10
	minBufferSize     = 512
	maxBufferSize     = 16 << 20
	defaultWatchdog   = 100 * time.Millisecond
	minWatchdog       = time.Millisecond
)

// withDefaults returns the options with defaults filled in. The error says what
// is wrong with them.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Processors < 0 || o.Processors > maxProcessors:
		return o, fmt.Errorf("netco: Options.Processors is %d, want 1 to %d, or 0 for GOMAXPROCS",
			o.Processors, maxProcessors)
	case o.BufferSize != 0 && (o.BufferSize < minBufferSize || o.BufferSize > maxBufferSize):
		return o, fmt.Errorf("netco: Options.BufferSize is %d, want %d to %d bytes, or 0",
			o.BufferSize, minBufferSize, maxBufferSize)
	case o.BufferMemory != 0 && o.BufferMemory < o.bufferSize():
		return o, fmt.Errorf("netco: Options.BufferMemory is %d, want at least the %d bytes of "+
			"one buffer, or 0 for no limit",
			o.BufferMemory, o.bufferSize())
	case o.Watchdog > 0 && o.Watchdog < minWatchdog:
		return o, fmt.Errorf(
			"netco: Options.Watchdog is %v, want at least %v, 0 for %v, or below 0 for none",
			o.Watchdog,
			minWatchdog,
			defaultWatchdog,
		)
	case o.Logger != nil && o.Slog != nil:
		return o, errors.New(
			"netco: Options.Logger and Options.Slog are both set, want one of them",
		)
	case o.MinActive < 0:
		return o, fmt.Errorf("netco: Options.MinActive is %d, want 1 or more, or 0 for 1",
			o.MinActive)
	case o.MaxCoroutines < 0:
		return o,
			fmt.Errorf("netco: Options.MaxCoroutines is %d, want 1 or more, or 0 for no limit",
				o.MaxCoroutines)
	}
	var usable unix.CPUSet
	if len(o.CPUs) > 0 {
		if err := unix.SchedGetaffinity(0, &usable); err != nil {
			return o, fmt.Errorf("netco: Options.CPUs: %w", err)
		}
	}
	for _, cpu := range o.CPUs {
		if cpu < 0 || cpu >= 64*len(usable) || !usable.IsSet(cpu) {
			return o, fmt.Errorf("netco: Options.CPUs names CPU %d, which this process may not use",
				cpu)
		}
	}
	o.LockThreads = o.LockThreads || len(o.CPUs) > 0
	if o.Processors == 0 {
		o.Processors = defaultProcessors()
	}
	if o.MinActive == 0 {
		o.MinActive = 1
	}
	if o.LockThreads {
		o.MinActive = o.Processors
	}
	if o.Watchdog == 0 {
		o.Watchdog = defaultWatchdog
	}
	if o.PoolCap == 0 {
		o.PoolCap = defaultPoolCap
	}
	o.BufferSize = o.bufferSize()
	if o.Slog != nil {
		o.Logger = zap.New(slogcore.New(o.Slog.Handler()))
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	} else {
		o.Logger = o.Logger.WithOptions(zap.WrapCore(processor.LogCore))
	}
	return o, nil
}

// bufferSize is BufferSize, or its default.
func (o *Options) bufferSize() int {
	if o.BufferSize == 0 {
		return defaultBufferSize
	}
	return o.BufferSize
}
