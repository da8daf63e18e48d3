package socket

import (
	"unsafe"

	"github.com/netco-go/netco/processor"
)

// Inspect meets PollDescs and is to tell of what they are part of. PollDesc.Mark, which is set before anybody else can see a socket, says
// what that is. All of it is one object, which the pointer to the PollDesc keeps alive.

// Marks. Others' PollDescs, such as a Poll's, have none of them.
const (
	markConn     = 1 + iota // in a socket in a conn
	markListener            // in a socket in a listener
	markSocket              // in a socket in a Socket
	markFile                // in a socket in a File
)

// socketOf returns the socket that pd is part of, or nil if it is part of something else.
func socketOf(pd *processor.PollDesc) *socket {
	if pd.Mark == 0 {
		return nil
	}
	return (*socket)(unsafe.Add(unsafe.Pointer(pd), -int(unsafe.Offsetof(socket{}.pd))))
}

// Precondition of these: the mark is the right one.

func (s *socket) connOf() *conn {
	return (*conn)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(conn{}.s))))
}

func (s *socket) listenerOf() *listener {
	return (*listener)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(listener{}.s))))
}

func (s *socket) fileOf() *File {
	return (*File)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(File{}.s))))
}
