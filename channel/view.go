package channel

import (
	"context"
	"iter"
	"time"
)

// Sender is the sending side of a *Chan[T], whose methods of the same names say
// what these do.
type Sender[T any] interface {
	Send(v T)
	TrySend(v T) bool
	SendTimeout(v T, d time.Duration) error
	SendContext(ctx context.Context, v T) error
	Close()
	Len() int
	Cap() int
	SendCase(v T) Case
}

// Receiver is the receiving side of a *Chan[T], whose methods of the same names
// say what these do.
type Receiver[T any] interface {
	Recv() (v T, ok bool)
	TryRecv() (v T, ok, done bool)
	RecvTimeout(d time.Duration) (T, error)
	RecvContext(ctx context.Context) (T, error)
	All() iter.Seq[T]
	Len() int
	Cap() int
	RecvCase(v *T) Case
}

var (
	_ Sender[int]   = (*Chan[int])(nil)
	_ Receiver[int] = (*Chan[int])(nil)
)

// SendCase is the function SendCase as a method of Sender.
func (c *Chan[T]) SendCase(v T) Case { return SendCase(c, v) }

// RecvCase is the function RecvCase as a method of Receiver.
func (c *Chan[T]) RecvCase(v *T) Case { return RecvCase(c, v) }
