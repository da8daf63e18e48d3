package socket

import (
	"unsafe"

	"github.com/netco-go/netco/processor"
)

// Inspect meets PollDescs and is to tell of what they are part of.
// PollDesc.Mark, which is set before others can see one, says what that
// is. A PollDesc is the first of a descriptor's fields, and a descriptor the
// first of a fileDescriptor's, so each is one object, which the pointer to the
// PollDesc keeps alive.

// Marks. Others' PollDescs, such as a Poll's, have none of them.
const (
	markConn     = 1 + iota // of a conn
	markListener            // of a listener
	markSocket              // of a Socket
	markFile                // of a File, in a fileDescriptor
)

// descriptorOf returns the descriptor that pd is part of, or nil if it is part
// of something else.
func descriptorOf(pd *processor.PollDesc) *descriptor {
	if pd.Mark == 0 {
		return nil
	}
	return (*descriptor)(unsafe.Pointer(pd))
}

// fileOf returns what d is part of. Precondition: its mark is markFile.
func (d *descriptor) fileOf() *fileDescriptor { return (*fileDescriptor)(unsafe.Pointer(d)) }
