package socket

import "net"

// network is the name a connection or listener was made under: net's errors repeat it.
type network uint8

const (
	noNetwork network = iota
	tcp
	tcp4
	tcp6
	udp
	udp4
	udp6
	unixNet
	unixgram
	unixpacket
)

var networkNames = [...]string{
	tcp: "tcp", tcp4: "tcp4", tcp6: "tcp6", udp: "udp", udp4: "udp4", udp6: "udp6",
	unixNet: "unix", unixgram: "unixgram", unixpacket: "unixpacket",
}

func (n network) String() string { return networkNames[n] }

func (n network) isTCP() bool  { return n >= tcp && n <= tcp6 }
func (n network) isUDP() bool  { return n >= udp && n <= udp6 }
func (n network) isUnix() bool { return n >= unixNet }

// kind is what reads mean on its connections.
func (n network) kind() kind {
	switch {
	case n.isTCP():
		return tcpStream
	case n == unixNet:
		return unixStream
	case n == unixpacket:
		return seqpackets
	}
	return packets
}

// parseNetwork finds a network by its name. Those of net's that are not here ("ip:icmp" and its like) are unknown.
func parseNetwork(name string) (network, error) {
	for i, s := range networkNames {
		if s == name && s != "" {
			return network(i), nil
		}
	}
	return noNetwork, net.UnknownNetworkError(name)
}
