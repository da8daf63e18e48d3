package socket

// FD returns the fd, for tests that ask the kernel about it.
func (c *UDPConn) FD() int { return c.s.fd }

// PutControl writes the header of a control message.
var PutControl = putControl

// ForgetGSO sets what is known of the kernel's UDP_SEGMENT: nothing, or that it
// is missing. It returns what was known.
func ForgetGSO(missing bool) (restore func()) {
	known := gso.Load()
	gso.Store(gsoUnknown)
	if missing {
		gso.Store(gsoMissing)
	}
	return func() { gso.Store(known) }
}

// ConnectUDP is connectUDP.
var ConnectUDP = connectUDP

// The networks of UDP.
const (
	UDP  = udp
	UDP4 = udp4
)
