// Package net is the standard library's package net for coroutines. It has all
// of that package's names and no others, so a daemon is ported by changing one
// line:
//
//	import "net"                              // before
//	import "github.com/netco-go/netco/net"    // after
//
// and starting its coroutines with netco.Go where it has go statements. A call
// that waits parks its coroutine, and the Processor runs others. On ordinary
// goroutines everything works too, and blocks as the standard's does, so a port
// may change the import first and the go statements one by one.
//
// # What is netco's
//
// Aliases of package socket's types: TCPConn, TCPListener, UDPConn, UnixConn,
// UnixListener, Dialer, ListenConfig, Resolver and Buffers. Functions of
// socket's: Dial, Listen, ListenPacket, their variants for one network,
// FileConn and its like, Lookup and Resolve functions.
//
// # What is the standard's
//
// Aliases of the standard's types: the interfaces Conn, PacketConn, Listener,
// Addr and Error, all addresses, all errors, and IP, IPMask, IPNet,
// HardwareAddr, Interface, KeepAliveConfig, MX, NS, SRV. A connection from here
// is thus a net.Conn to any library, and errors.As finds the standard's
// *net.OpError. Functions on addresses and interfaces call the standard's;
// functions on interfaces ask the kernel, which takes microseconds and does not
// park.
//
// # What differs
//
//   - IPConn, ListenIP, DialIP and Pipe are the standard's; a coroutine that
//     waits on them holds up its Processor, until the Processor goes on without
//     it. Where Processors are not handed on (README.md, "What blocks a
//     Processor"), two coroutines of one Processor cannot use the two ends of a
//     Pipe.
//   - Dialer, ListenConfig: networks ip, ip4 and ip6 are unknown to their Dial
//     and ListenPacket; DialIP and the functions Dial, DialTimeout and
//     ListenPacket know them.
//   - SetMultipathTCP has no effect; connections are plain TCP.
//   - The methods of a nil TCPListener or UnixListener panic, except Close.
//     Those of zero connections and listeners return an *OpError, mostly of
//     ErrClosed; the standard's return EINVAL or panic.
//   - Listen refuses network unixgram, and ListenPacket unix and unixpacket;
//     the standard's make sockets there that cannot accept or receive.
//   - Resolver has a field of its own besides, Net. Look-ups run on ordinary
//     goroutines, so its Dial is called there.
//   - Functions of other packages that take the standard's *net.Dialer,
//     *net.TCPConn or *net.Resolver do not take those of this package, and do
//     not compile: crypto/tls's Dialer.NetDialer and DialWithDialer (use
//     tls.Client on a connection dialled here). A type assertion to the
//     standard's *net.TCPConn fails. So does ReadFrom of a PacketConn of
//     golang.org/x/net/ipv4 or ipv6, for that reason; ReadBatch works.
//   - Packages that call net themselves, such as http.ListenAndServe,
//     http.DefaultTransport and SQL drivers, use the standard's. Give them a
//     listener, or a Dialer's DialContext, of this package.
//   - Errors: there is one more, netco.ErrShutdown, from operations that the
//     Scheduler's end interrupts. errors.Is matches it with ErrClosed, too.
//   - Close of a connection in use closes the fd at once if the other
//     operations wait. If other operations are in a system call, the last of
//     them closes the fd; a goroutine that calls Close waits up to 0.1 s for
//     that, a coroutine does not.
//   - File().Fd() leaves the file, and with it the socket, non-blocking; the
//     standard's makes both blocking. Before passing the fd to code that
//     expects to block, call syscall.SetNonblock(fd, false), once nothing here
//     uses the socket any more.
//   - Bubbles of testing/synctest work as with the standard's, but the first
//     look-up of a process is refused there.
//
// Package socket documents the methods.
package net
