package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"time"

	"github.com/netco-go/netco/socket"
	netcotls "github.com/netco-go/netco/tls"
)

func tlsNet(address string) error {
	config, err := newConfig()
	if err != nil {
		return err
	}
	return onNet(address, func(c net.Conn) { echo(tls.Server(c, config)) })
}

func tlsNetco(address string) error {
	config, err := newConfig()
	if err != nil {
		return err
	}
	return onNetco(address, func(c net.Conn) { echo(netcotls.Server(c, config)) })
}

// tlsNetcoServer has no coroutine and no buffer for a connection that is idle.
func tlsNetcoServer(address string) error {
	config, err := newConfig()
	if err != nil {
		return err
	}
	ln, err := listenNetco(address)
	if err != nil {
		return err
	}
	s := &socket.Server{Handle: tlsAnswer, Opened: func(c *socket.ServerConn) error {
		t := netcotls.Server(c, config)
		if err := t.Handshake(); err != nil {
			return err
		}
		c.Value = t
		if t.Readable() {
			return tlsAnswer(c)
		}
		return nil
	}}
	return joined(func() error { return s.Serve(ln) })
}

// tlsAnswer echoes what has come.
func tlsAnswer(c *socket.ServerConn) error {
	t := c.Value.(*netcotls.Conn)
	for more := true; more; more = t.Readable() {
		if err := echoOnce(t); err != nil {
			return err
		}
	}
	return nil
}

// newConfig returns a configuration with a certificate that is good for a day.
func newConfig() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(0, 0, 1),
		KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der},
		PrivateKey: key}}}, nil
}
