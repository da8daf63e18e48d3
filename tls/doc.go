// Package tls is crypto/tls for coroutines, name for name: TLS connections
// whose two halves any coroutines and goroutines may use at the same time.
//
//	import "crypto/tls"                       // before
//	import "github.com/netco-go/netco/tls"    // after
//
// A tls.Conn of crypto/tls holds mutexes while it reads and writes. A coroutine
// that meets one of them blocks until the holder has read or written, and holds
// up its Processor; where Processors are not handed on, for good if the holder
// is a coroutine of the same Processor. Here coroutines park.
//
// # Use
//
//	ln, err := tls.Listen("tcp", ":7443", config)
//	...
//	c, err := ln.Accept()
//	...
//	_, err = netco.Go(func() { serve(c) }) // a Read or Write shakes hands
//
// # What is netco's
//
// [Conn], with all methods of crypto/tls's, [Dialer], [Listen], [NewListener],
// [Server], [Client], [Dial] and [DialWithDialer]. [Limits] is netco's alone:
// the time and the number of handshakes.
//
// # What is the standard's
//
// Everything else is an alias of crypto/tls's: [Config], [Certificate],
// [ConnectionState], the errors and the constants. All cryptography is
// crypto/tls's: the handshake and its callbacks, session tickets, ALPN, client
// certificates, KeyLogWriter, key updates.
//
// # What differs
//
//   - A handshake takes 10 s at most, unless Limits says otherwise.
//   - A Write that a deadline has ended leaves the connection usable, see
//     [Conn.Write]. A direct SetWriteDeadline on NetConn ends Writes too.
//   - Renegotiation is off: RenegotiateNever, whatever Config says.
//   - Read does not wait for a Write that is under way to send an alert or the
//     answer to a key update.
//   - ClientHelloInfo.Conn and CertificateRequestInfo's are not the connection
//     below; its method NetConn returns that.
//   - Packages that check for crypto/tls's *Conn do not recognise this one:
//     net/http serves it as plain HTTP/1, with Request.TLS nil. Give them a
//     listener of crypto/tls over one of netco/net.
//   - Dialer.NetDialer and DialWithDialer take netco/net's Dialer.
//   - QUICConn is the standard's.
//
// Errors are those of crypto/tls and of the connection below. Otherwise the
// package passes crypto/tls's own tests, except tests of internals:
// interop/stdtls runs them.
//
// # How it works
//
// crypto/tls reads from memory and writes to memory, so after the handshake its
// mutexes are never held across a wait. Read waits for the peer before it calls
// crypto/tls again. The caller of crypto/tls then sends the bytes that
// crypto/tls has written, under a sync.Mutex. During the handshake crypto/tls
// does wait, and no other method calls it.
//
// # Idle connections
//
// A connection that waits holds no buffer, neither of this package nor of
// crypto/tls. With a socket.Server it holds no coroutine either: Opened calls
// Server and Handshake and keeps the Conn as the ServerConn's Value; Handle
// calls Read and answers, again for as long as [Conn.Readable] reports that
// there is more, since what was received already does not call Handle. Opened
// does so too if the Conn is Readable after the handshake.
//
// # Pipelining
//
// Each Write is a record of its own at least, and a system call. A server that
// answers requests which came together with one Write has a bufio.Writer, and a
// bufio.Reader over this; socket.Buffered is for connections without TLS.
//
//	type flushing struct {
//		*tls.Conn
//		w *bufio.Writer
//	}
//
//	// Read sends what was written before it waits.
//	func (f flushing) Read(p []byte) (int, error) {
//		if !f.Readable() {
//			if err := f.w.Flush(); err != nil {
//				return 0, err
//			}
//		}
//		return f.Conn.Read(p)
//	}
//
// So a reader sends its answers before it waits, also within a request; see the
// example of [Conn.Readable]. A Handle of a socket.Server flushes before it
// returns instead, and may take both buffers from a sync.Pool.
package tls
