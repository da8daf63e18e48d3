package fd

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
)

// Pipe is a pipe for splice(2): bytes go from a socket into the pipe and from
// there into another socket, by reference, without being copied.
//
// A pipe is made when bulk data needs one and then kept for the next transfer.
// At most MaxPipes exist; a copy that gets none uses a buffer instead. Pipes in
// the pool are empty. The garbage collector removes pipes that were not used
// between two collections, and closes them, so a program whose bulk traffic is
// over gets its fds back.
type Pipe struct {
	fds     pipeFDs
	cleanup runtime.Cleanup
}

type pipeFDs struct{ r, w int }

// MaxPipes bounds the number of pipes that exist.
const (
	MaxPipes = 128 // of the 256 of this size that an ordinary user gets (fs.pipe-user-pages-soft)
	pipeSize = sysx.MaxSplice
)

var (
	pipes     sync.Pool
	openPipes atomic.Int32
)

// OpenPipes returns how many pipes exist.
func OpenPipes() int { return int(openPipes.Load()) }

// AcquirePipe returns an empty pipe, or nil if MaxPipes exist or the system
// refuses one.
func AcquirePipe() *Pipe {
	if p, _ := pipes.Get().(*Pipe); p != nil {
		return p
	}
	if openPipes.Add(1) > MaxPipes {
		openPipes.Add(-1)
		return nil
	}
	r, w, errno := sysx.NewPipe(pipeSize)
	if errno != 0 {
		openPipes.Add(-1)
		return nil
	}
	p := &Pipe{fds: pipeFDs{r, w}}
	p.cleanup = runtime.AddCleanup(p, pipeFDs.close, p.fds)
	return p
}

// Release gives an empty pipe back.
func (p *Pipe) Release() { pipes.Put(p) }

// discard closes a pipe that is not known to be empty.
func (p *Pipe) discard() {
	p.cleanup.Stop()
	p.fds.close()
}

func (f pipeFDs) close() {
	sysx.CloseFD(f.r)
	sysx.CloseFD(f.w)
	openPipes.Add(-1)
}
