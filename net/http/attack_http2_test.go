package http_test

import (
	"encoding/binary"
	"errors"
	"io"
	stdhttp "net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// The frames of HTTP/2 that the attacks are made of, and their flags.
const (
	frameHeaders, frameReset, frameSettings, frameGoAway, frameContinuation = 1, 3, 4, 7, 9

	endStream, endHeaders = 1, 4
)

// frame returns a frame.
func frame(kind, flags byte, stream uint32, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), stream)
	return string(b) + payload
}

// getHeaders is GET / of host a, as HPACK has it.
const getHeaders = "\x82\x86\x84\x41\x01a"

// reasonOf reads frames up to GOAWAY, and returns its error code; 0 if the
// connection ends before, as a reset may overtake it, and an error if neither
// happens.
func reasonOf(r io.Reader) (code uint32, err error) {
	var head [9]byte
	for {
		if _, err = io.ReadFull(r, head[:]); err != nil {
			break
		}
		payload := make([]byte, binary.BigEndian.Uint32(head[:])>>8)
		if _, err = io.ReadFull(r, payload); err != nil {
			break
		}
		if head[3] == frameGoAway {
			return binary.BigEndian.Uint32(payload[4:]), nil
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return 0, err
}

// attack sends frames, and returns why the server has had enough.
func attack(t *testing.T, addr string, frames func(n uint32) string) (reason uint32) {
	t.Helper()
	c := dial(t, addr)
	begin := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(frameSettings, 0, 0, "")
	testenv.Must(io.WriteString(c, begin))
	ended := make(chan error, 1)
	go func() {
		var err error
		reason, err = reasonOf(c)
		ended <- err
	}()
	for n := range uint32(20_000) {
		if _, err := io.WriteString(c, frames(n)); err != nil {
			break
		}
	}
	testenv.NoError(t, testenv.Await(t, ended, "the end"))
	return reason
}

// TestHTTP2Attacks: rapid reset and a flood of CONTINUATION end where they end
// with net/http's server: it bounds the handlers and the header, and says why
// it ends. Meanwhile others are answered.
func TestHTTP2Attacks(t *testing.T) {
	const maxHandlers, enhanceYourCalm, protocolError = 250, 11, 1
	for name, x := range map[string]struct {
		frames func(n uint32) string
		reason uint32
	}{
		"rapid reset": {func(n uint32) string {
			return frame(frameHeaders, endStream|endHeaders, 2*n+1, getHeaders) +
				frame(frameReset, 0, 2*n+1, "\x00\x00\x00\x08")
		}, enhanceYourCalm},
		"continuations": {func(n uint32) string {
			field := "\x00\x01x\x7f\x81\x7f" + strings.Repeat("y", 16_384-6)
			if n == 0 {
				return frame(frameHeaders, endStream, 1, getHeaders)
			}
			return frame(frameContinuation, 0, 1, field)
		}, protocolError},
	} {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			var handlers, most atomic.Int32
			release := make(chan bool)
			h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor == 1 {
					return
				}
				n := handlers.Add(1)
				defer handlers.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				<-release
			})
			p := new(http.Protocols)
			p.SetHTTP1(true)
			p.SetUnencryptedHTTP2(true)
			for _, addr := range []string{
				serve(t, &http.Server{Handler: h, Protocols: p, ErrorLog: quiet}),
				standard(t, &stdhttp.Server{Handler: h, Protocols: p, ErrorLog: quiet}),
			} {
				most.Store(0)
				before := handlers.Load()
				wait := beside(t, addr)
				if reason := attack(t, addr, x.frames); reason != x.reason && reason != 0 {
					t.Errorf("it ends for reason %d, not %d", reason, x.reason)
				}
				wait()
				if n := most.Load() - before; n > maxHandlers {
					t.Errorf("%d handlers at a time", n)
				}
			}
			close(release)
		})
	}
}
