package tls

import (
	"errors"

	"github.com/netco-go/netco/net"
)

// listener accepts connections of inner and wraps them.
type listener struct {
	net.Listener
	limits *Limits
	config *Config
}

// Accept implements net.Listener. It returns a *Conn that has not shaken hands.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.limits.Server(c, l.config), nil
}

// NewListener returns a listener whose Accept returns a *Conn over a connection
// of inner, before the handshake: a slow client delays no other. config is as
// for [Server].
func NewListener(inner net.Listener, config *Config) net.Listener {
	return defaults.NewListener(inner, config)
}

// NewListener is the function NewListener with these limits.
func (l *Limits) NewListener(inner net.Listener, config *Config) net.Listener {
	return &listener{inner, l, config}
}

// Listen is NewListener on a listener of netco/net. A name in the address is
// looked up, which parks. config is as for [Server].
func Listen(network, laddr string, config *Config) (net.Listener, error) {
	if config == nil ||
		len(config.Certificates) == 0 && config.GetCertificate == nil &&
			config.GetConfigForClient == nil {
		return nil, errors.New(
			"tls: neither Certificates, GetCertificate, nor GetConfigForClient set in Config",
		)
	}
	ln, err := net.Listen(network, laddr)
	if err != nil {
		return nil, err
	}
	return NewListener(ln, config), nil
}
