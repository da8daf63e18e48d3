// Package socket is TCP, UDP and Unix sockets, name look-ups and files for
// coroutines: blocking-style calls that park the coroutine and leave its thread
// to others. Connections are net.Conn or net.PacketConn and listeners
// net.Listener, with net's errors; names that package net has too mean what
// they mean there. Package netco/net has these under net's names and no others.
//
// # Model
//
// An operation is tried first and parks only when the kernel says that it would
// block. After a read of a TCP stream that got less than it asked for, the
// socket is known to be empty, so the next read parks without asking the kernel
// again unless an edge has come since: of the three system calls of a request,
// that saves one.
//
// An fd is registered with epoll when something first waits for it, until it is
// closed. For coroutines that is the epoll of the first waiter's Processor, and
// later of the Processor to which the reader moves. A coroutine elsewhere may
// wait for the fd too, and is then woken across threads; so the coroutines that
// read and write one connection had better share a Processor. The fds of
// ordinary goroutines are watched apart from the Processors, so that they do
// not depend on a thread that a coroutine may be holding up.
//
// # Choosing a type
//
//	a connection, a coroutine for each   netco.Listen, netco.Dial: TCPConn,
//	                                     UnixConn
//	many connections, most of them idle  Server calls Handle when there is
//	                                     something to read; an idle connection
//	                                     holds neither coroutine nor buffer
//	the same in a loop of one's own      WaitReadable, then AcquireBuffer: an
//	                                     idle connection holds no buffer
//	a protocol with pipelining           Buffered sends what was written when
//	                                     its reader would wait
//	a proxy                              io.Copy: ReadFrom and WriteTo splice
//	                                     bulk data and copy small amounts
//	header and payload in pieces         Buffers, WriteBuffers: one system call
//	                                     for many pieces
//	files over a connection              io.Copy from an *os.File: sendfile
//	UDP                                  UDPConn; ReadBatch, WriteBatch for
//	                                     many
//	a socket for each Processor          ListenReusePort, ListenUDPReusePort,
//	                                     and Spawn.On
//	fds and credentials of a process     UnixConn.ReadMsgUnix, WriteMsgUnix
//	settings, deadlines, cancellation    Dialer, ListenConfig
//	names                                Resolver
//	package net's functions              netco/net: ListenTCP, FileConn and
//	                                     all others
//	pipes, terminals, eventfds, files    File
//	several fds, of any package          Poll, PollContext
//	another family, raw IP               Socket
//	options and calls that are missing   SyscallConn
//	listeners from systemd, restarts     File, and netco/net's FileListener
//	which sockets there are              package introspect
//
// The smallest server for connections that are mostly idle:
//
//	s := &socket.Server{Handle: func(c *socket.ServerConn) error {
//		b := socket.AcquireBuffer()
//		defer b.Release()
//		n, err := c.Read(b.Bytes())
//		if err == nil {
//			_, err = c.Write(b.Bytes()[:n])
//		}
//		return err
//	}}
//	err := s.Serve(listener)
//
// # Contract
//
// Unless its comment says otherwise every method may be called from coroutines
// and from ordinary goroutines, of any thread; the latter block. Reads are
// serialised among themselves, as are writes. Close ends every operation under
// way with net.ErrClosed. The fd is closed at once if all of them wait; an
// operation in the middle of a system call closes the fd when it returns, for
// which a goroutine's Close waits up to 100 ms. The garbage collector closes a
// socket that is unreachable and has no waiter, as with package net; call Close
// all the same. A deadline ends present and later waits with
// os.ErrDeadlineExceeded, until it is moved.
// When the scheduler ends, Accept returns netco.ErrShutdown at once, as
// does a Read of a handler of netco.Serve that waits for a request, and every
// wait when the end is forced.
//
// A coroutine whose reads or writes always succeed at once yields after a burst
// of them, or when its Processor's turn has lasted half a millisecond, so that
// it does not starve the others of its Processor. So take a lock that parks,
// netco/sync's Mutex or RWMutex, if it is held across a read or write, even if
// there is always data: a sync.Mutex makes the whole Processor late, and may
// block it for good (README.md, "What blocks a Processor").
// crypto/tls has such a lock in every connection: one coroutine should read and
// write it. Package netco/tls has none. Server and Buffered do not take a
// tls.Conn: netco/tls's Conn takes a ServerConn, and its package comment has
// Buffered's flushing over bufio.
//
// Reads, writes and WaitReadable of streams do not allocate; comments name the
// methods that do.
//
// # Limits
//
//   - Names are resolved by Go's resolver, on ordinary goroutines.
//   - Sendfile, that is ReadFrom of a regular file, blocks while the disk is
//     read, as other system calls do.
//   - Multipath TCP is not used. There is no type for raw IP: [Socket] does it.
//   - Bytes that a copy has read and could not write are kept in the process
//     and read next; raw use of the fd does not see them.
//   - Package net's FileConn and its like and [NewFile] make the fd
//     non-blocking for all that share it.
//
// docs/ARCHITECTURE.md says how the parts work together, docs/RATIONALE.md why
// they are so.
package socket
