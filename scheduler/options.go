package scheduler

import (
	"fmt"
	"runtime"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/processor"
)

// Options are what a Scheduler is made with. The zero value is useful: each field's zero means its default.
type Options struct {
	// Processors is the number of threads that run coroutines; default runtime.GOMAXPROCS(0), at most 1024.
	Processors int
	// CPUs, if set, binds Processor i to CPU CPUs[i mod len(CPUs)]. It needs locked threads.
	CPUs []int
	// NoLockThread lets the Go scheduler move a Processor from one OS thread to another. By default each keeps its own.
	NoLockThread bool
	// Spin says whether an idle Processor looks for events for up to 50 µs before it sleeps; default SpinAuto: while that
	// has been paying lately.
	Spin processor.SpinMode
	// PoolCap is how many idle goroutines each Processor keeps, with their stacks, for coroutines to come; default
	// 1024; negative: none.
	PoolCap int
	// NoHandoff makes every switch pass the Processor's loop, which is slower. For finding faults.
	NoHandoff bool
	// BufferSize is the size of a hot buffer in bytes; default 16 KiB, from 512 to 16 MiB.
	BufferSize int
	// Logger gets what is worth telling; default: nothing is logged.
	Logger *zap.Logger
	// OnPanic, if set, is called when a coroutine panics, on that coroutine; the coroutine then ends and the program goes
	// on. By default a panic ends the program, as in a goroutine.
	OnPanic func(processor.PanicInfo)
}

const (
	maxProcessors     = 1024
	defaultPoolCap    = 1024
	defaultBufferSize = 16 << 10
	minBufferSize     = 512
	maxBufferSize     = 16 << 20
)

// withDefaults returns the options with defaults filled in, or what is wrong with them.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Processors < 0 || o.Processors > maxProcessors:
		return o, fmt.Errorf("netco: Options.Processors is %d, want 1 to %d, or 0 for GOMAXPROCS", o.Processors, maxProcessors)
	case o.BufferSize != 0 && (o.BufferSize < minBufferSize || o.BufferSize > maxBufferSize):
		return o, fmt.Errorf("netco: Options.BufferSize is %d, want %d to %d bytes, or 0", o.BufferSize, minBufferSize, maxBufferSize)
	case o.Spin != processor.SpinAuto && o.Spin != processor.SpinOff:
		return o, fmt.Errorf("netco: Options.Spin is %d, want SpinAuto or SpinOff", o.Spin)
	case len(o.CPUs) > 0 && o.NoLockThread:
		return o, fmt.Errorf("netco: Options.CPUs needs locked threads, but NoLockThread is set")
	}
	var usable unix.CPUSet
	if len(o.CPUs) > 0 {
		if err := unix.SchedGetaffinity(0, &usable); err != nil {
			return o, fmt.Errorf("netco: Options.CPUs: %w", err)
		}
	}
	for _, cpu := range o.CPUs {
		if cpu < 0 || cpu >= 64*len(usable) || !usable.IsSet(cpu) {
			return o, fmt.Errorf("netco: Options.CPUs names CPU %d, which this process may not use", cpu)
		}
	}
	if o.Processors == 0 {
		o.Processors = min(runtime.GOMAXPROCS(0), maxProcessors)
	}
	if o.PoolCap == 0 {
		o.PoolCap = defaultPoolCap
	}
	if o.BufferSize == 0 {
		o.BufferSize = defaultBufferSize
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	} else {
		o.Logger = o.Logger.WithOptions(zap.WrapCore(processor.LogCore))
	}
	return o, nil
}
