// Package socket is TCP for coroutines: blocking-style reads, writes, accepts and connects that park the coroutine and
// leave its thread to others. [TCPConn] is a net.Conn and [TCPListener] a net.Listener, with net's errors.
//
// # Model
//
// An operation is tried first and parks only when the kernel says that it would block. After a read that got less than
// it asked for, the socket is known to be empty, so the next read parks without asking the kernel again unless an edge has
// come since: of the three system calls of a request, that saves one. The fd is registered with a Processor's epoll once,
// when something first waits for it, and stays there until it is closed: with the Processor of the coroutine that
// waits, or, when an ordinary goroutine waits, with any.
//
// A server for many connections that are idle most of the time calls [TCPConn.WaitReadable], then takes a buffer with
// [AcquireBuffer], reads, answers, and gives the buffer back: idle connections then hold no buffer, and those that work
// share a few that are warm.
//
// # Contract
//
// Every method may be called from coroutines and from ordinary goroutines, of any thread; the latter block. Reads are
// serialised among themselves, as are writes. Close ends every operation under way with net.ErrClosed; the fd is closed,
// and its number free, when the last of them has returned. A coroutine whose reads or writes always succeed at once
// yields after a burst of them, so that it does not starve the others of its Processor.
//
// Limits: networks tcp, tcp4 and tcp6. Names (not addresses) in Dial and Listen are resolved on an ordinary goroutine.
package socket
