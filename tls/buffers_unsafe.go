package tls

import (
	"bytes"
	stdtls "crypto/tls"
	"reflect"
	"unsafe"
)

// Each connection of crypto/tls has two buffers that grow with what is received
// and never shrink: rawInput to the largest record, hand to the largest message
// of the handshake. An idle connection would hold up to 18 KiB, and 4 KiB from
// the handshake alone. So a Read that is about to wait takes the buffers away,
// and a Read that has received much lends rawInput a buffer of the pool.
//
// That is sound: crypto/tls uses the two in its reading half only, which
// belongs to the holder of Conn.read; both are empty when they are taken; and
// crypto/tls wants more only after all bytes that it decrypted in place were
// read. Where a Go release has no such fields, connections keep their buffers.

// The offsets of both fields, and whether they are known.
var rawInputOffset, handOffset, buffersKnown = tlsBuffers()

func tlsBuffers() (rawInput, hand uintptr, known bool) {
	conn, buffer := reflect.TypeFor[stdtls.Conn](), reflect.TypeFor[bytes.Buffer]()
	r, ok1 := conn.FieldByName("rawInput")
	h, ok2 := conn.FieldByName("hand")
	return r.Offset, h.Offset, ok1 && ok2 && r.Type == buffer && h.Type == buffer
}

func (c *Conn) tlsBuffer(offset uintptr) *bytes.Buffer {
	return (*bytes.Buffer)(unsafe.Add(unsafe.Pointer(c.tls), offset))
}

// small is the capacity that a buffer may keep: rawInput's for a short record.
const small = 1 << 10

// shrink takes the buffers of crypto/tls away if they are empty and large.
// Precondition: read is held, and crypto/tls wants more.
func (c *Conn) shrink() {
	if !buffersKnown {
		return
	}
	if b := c.tlsBuffer(handOffset); b.Len() == 0 && b.Cap() > 0 {
		*b = bytes.Buffer{}
	}
	if b := c.tlsBuffer(rawInputOffset); b.Len() == 0 && b.Cap() > small {
		*b = bytes.Buffer{}
		if c.lent != nil {
			buffers.Put(c.lent)
			c.lent = nil
		}
	}
}

// lend gives crypto/tls a buffer of the pool to read n bytes into, unless it
// has one or n is small. Precondition: as for shrink.
func (c *Conn) lend(n int) {
	if n <= small/2 || c.lent != nil || !buffersKnown {
		return
	}
	if b := c.tlsBuffer(rawInputOffset); b.Cap() <= small {
		c.lent = buffers.Get().(*buffer)
		*b = *bytes.NewBuffer(append(c.lent[:0], b.Bytes()...))
	}
}
