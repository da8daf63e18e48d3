package tls_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	stdtls "crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/tls"
)

// Types of records, and a message to update keys.
const (
	typeAlert     = 21
	typeHandshake = 22
	typeData      = 23

	msgKeyUpdate = 24
)

// peer is a client that writes TLS 1.3 records one by one, and so what
// crypto/tls never writes: key updates, garbage, pieces of records.
type peer struct {
	net.Conn
	out, in half
}

// half is one direction of a peer.
type half struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

func (h *half) set(secret []byte) {
	key := expand(secret, "key", 16)
	block := testenv.Must(aes.NewCipher(key))
	h.secret, h.aead = secret, testenv.Must(cipher.NewGCM(block))
	h.iv, h.seq = expand(secret, "iv", 12), 0
}

// update moves to the next key.
func (h *half) update() { h.set(expand(h.secret, "traffic upd", sha256.Size)) }

func (h *half) nonce() []byte {
	nonce := bytes.Clone(h.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^h.seq)
	h.seq++
	return nonce
}

// expand is HKDF-Expand-Label of TLS 1.3, without a context.
func expand(secret []byte, label string, n int) []byte {
	label = "tls13 " + label
	info := append(binary.BigEndian.AppendUint16(nil, uint16(n)), byte(len(label)))
	return testenv.Must(hkdf.Expand(sha256.New, secret, string(info)+label+"\x00", n))
}

// newPeer shakes hands with a server of this package over a pair of
// connections, and returns both.
func newPeer(t *testing.T) (*tls.Conn, *peer) {
	t.Helper()
	a, b := pair(t)
	sc, cc := configs()
	sc.SessionTicketsDisabled = true
	var keys bytes.Buffer
	cc.KeyLogWriter = &keys
	server, client := tls.Server(a, sc), stdtls.Client(b, cc)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	testenv.OK(t, server.Handshake())
	testenv.OK(t, testenv.Await(t, shaken, "the client's handshake"))
	if client.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("crypto/tls prefers another cipher where the CPU has no instructions for AES")
	}
	p := &peer{Conn: b}
	for line := range strings.Lines(keys.String()) {
		switch f := strings.Fields(line); f[0] {
		case "CLIENT_TRAFFIC_SECRET_0":
			p.out.set(testenv.Must(hex.DecodeString(f[2])))
		case "SERVER_TRAFFIC_SECRET_0":
			p.in.set(testenv.Must(hex.DecodeString(f[2])))
		}
	}
	return server, p
}

// record returns a record of a type.
func (p *peer) record(typ byte, data []byte) []byte {
	inner := append(bytes.Clone(data), typ)
	header := []byte{typeData, 3, 3, 0, 0}
	binary.BigEndian.PutUint16(header[3:], uint16(len(inner)+p.out.aead.Overhead()))
	return p.out.aead.Seal(header, p.out.nonce(), inner, header)
}

// keyUpdate returns the record that announces the next key of this side, and
// demands one of the other.
func (p *peer) keyUpdate() []byte {
	r := p.record(typeHandshake, []byte{msgKeyUpdate, 0, 0, 1, 1})
	p.out.update()
	return r
}

// next reads the next record, and follows a key update.
func (p *peer) next() (typ byte, data []byte, err error) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(p, header); err != nil {
		return 0, nil, err
	}
	record := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(p, record); err != nil {
		return 0, nil, err
	}
	data, err = p.in.aead.Open(nil, p.in.nonce(), record, header)
	if err != nil || len(data) == 0 {
		return 0, nil, fmt.Errorf("record of %d bytes: %v", len(record), err)
	}
	typ, data = data[len(data)-1], data[:len(data)-1]
	if typ == typeHandshake && data[0] == msgKeyUpdate {
		p.in.update()
	}
	return typ, data, nil
}

// until reads records until one has the type, and returns its data and how many
// key updates came before.
func (p *peer) until(typ byte) (data []byte, updates int, err error) {
	for {
		got, data, err := p.next()
		if err != nil || got == typ {
			return data, updates, err
		}
		if got == typeHandshake {
			updates++
		}
	}
}

// TestKeyUpdates: a Read answers key updates, also within one that waits.
func TestKeyUpdates(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, p := newPeer(t)
		const n = 5
		var sent []byte
		for range n {
			sent = append(sent, p.keyUpdate()...)
		}
		sent = append(sent, p.record(typeData, []byte("x"))...)
		testenv.Must(p.Write(sent))
		run(func() error { return testenv.Err(server.Read(make([]byte, 1))) })
		testenv.Must(p.Write(p.keyUpdate())) // no data follows
		run(
			func() error { return isError(io.EOF)(server.Read(make([]byte, 1))) },
			func() error {
				for i := range n + 1 {
					if typ, _, err := p.next(); typ != typeHandshake || err != nil {
						return fmt.Errorf("answer %d: %d, %v", i, typ, err)
					}
				}
				_, err := p.Write(p.record(typeAlert, []byte{1, 0}))
				return err
			},
		)
	})
}

// garbage is a record that cannot be decrypted.
const garbage = "\x17\x03\x03\x00\x20 this was not encrypted by anyone"

// TestGarbage: a peer stops reading, so that a Write waits, and then sends
// garbage. The Read beside it ends at once, and Close ends the Write.
func TestGarbage(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, p := newPeer(t)
		run(
			func() error {
				if _, err := server.Write(make([]byte, 64<<20)); err == nil {
					return errors.New("Write to a peer that does not read has returned nil")
				}
				return nil
			},
			func() error {
				if _, err := io.ReadFull(p, make([]byte, 1)); err != nil {
					return err
				}
				_, err := io.WriteString(p, garbage)
				return err
			},
			func() error {
				_, err := server.Read(make([]byte, 1))
				if err == nil || !strings.Contains(err.Error(), "bad record MAC") {
					return fmt.Errorf("Read: %v", err)
				}
				return server.Close()
			},
		)
	})
}

// TestGarbageIsAnswered: where no Write is under way, the peer gets an alert.
func TestGarbageIsAnswered(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, p := newPeer(t)
		testenv.Must(io.WriteString(p, garbage))
		run(func() error {
			if _, err := server.Read(make([]byte, 1)); err == nil {
				return errors.New("garbage was read")
			}
			return nil
		}, func() error {
			const badRecordMAC = 20
			if alert, _, err := p.until(typeAlert); err != nil || alert[1] != badRecordMAC {
				return fmt.Errorf("%v, %v", alert, err)
			}
			return nil
		})
	})
}

// TestFloodOfKeyUpdates: a peer that does not read its answers does not make
// them pile up: Read waits for room in the end, under the write deadline.
func TestFloodOfKeyUpdates(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, p := newPeer(t)
		server.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		const enough = 10_000 // answers that come to several times what a Read leaves unsent
		run(
			func() error { // ends when the server closes
				for {
					update := append(p.keyUpdate(), p.record(typeData, []byte("x"))...)
					if _, err := p.Write(update); err != nil {
						return nil
					}
				}
			},
			func() error {
				return isError(os.ErrDeadlineExceeded)(server.Write(make([]byte, 64<<20)))
			},
			func() error {
				defer server.NetConn().Close() // Close would wait for the peer
				for n := range enough {
					if _, err := server.Read(make([]byte, 1)); err != nil {
						return isError(os.ErrDeadlineExceeded)(n, err)
					}
				}
				return errors.New("Reads go on")
			},
		)
	})
}
