package tls

import (
	"context"
	"strings"

	"github.com/netco-go/netco/net"
)

// Server returns the server's side of a TLS connection over conn. config needs
// a certificate, or GetCertificate, or GetConfigForClient. It does not wait:
// Handshake, Read and Write shake hands.
func Server(conn net.Conn, config *Config) *Conn { return defaults.Server(conn, config) }

// Client returns the client's side of a TLS connection over conn. config needs
// ServerName or InsecureSkipVerify. It does not wait: Handshake, Read and Write
// shake hands.
func Client(conn net.Conn, config *Config) *Conn { return defaults.Client(conn, config) }

// Dial connects to an address, by package netco/net, and shakes hands. A nil
// config is the zero one; without a ServerName it is the host of the address.
// Parks.
func Dial(network, addr string, config *Config) (*Conn, error) {
	return DialWithDialer(new(net.Dialer), network, addr, config)
}

// DialWithDialer is Dial by a dialer of netco/net, whose Timeout and Deadline
// bound the handshake too. Parks.
func DialWithDialer(dialer *net.Dialer, network, addr string, config *Config) (*Conn, error) {
	return dial(context.Background(), dialer, network, addr, config)
}

// Dialer dials with a configuration.
type Dialer struct {
	// NetDialer dials the connection below; nil is the zero net.Dialer.
	NetDialer *net.Dialer

	// Config is for the connections; nil is the zero Config.
	Config *Config
}

// Dial is the function Dial with these settings. The result is a *Conn. Parks.
func (d *Dialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

// DialContext is Dial until ctx is done. The end of ctx does not affect the
// connection once it is returned. Parks.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := d.NetDialer
	if dialer == nil {
		dialer = new(net.Dialer)
	}
	c, err := dial(ctx, dialer, network, addr, d.Config)
	if err != nil {
		return nil, err // not a nil *Conn
	}
	return c, nil
}

func dial(ctx context.Context, dialer *net.Dialer, network, addr string,
	config *Config) (*Conn, error) {
	if dialer.Timeout != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
		defer cancel()
	}
	if !dialer.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, dialer.Deadline)
		defer cancel()
	}
	raw, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := Client(raw, named(config, addr))
	if err := c.HandshakeContext(ctx); err != nil {
		c.closeRaw()
		return nil, err
	}
	return c, nil
}

// named returns config with a ServerName, by default the host of addr.
func named(config *Config, addr string) *Config {
	switch {
	case config == nil:
		config = new(Config)
	case config.ServerName != "":
		return config
	default:
		config = config.Clone()
	}
	host := addr
	if i := strings.LastIndexByte(addr, ':'); i >= 0 {
		host = addr[:i]
	}
	config.ServerName = host
	return config
}
