package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// FuzzBuffered runs a random program of reads and writes on a Buffered whose
// peer sends random pieces, and the same program on bufio's Reader and Writer.
// Both must read the same, and the peer must get what bufio wrote.
func FuzzBuffered(f *testing.F) {
	f.Add([]byte("one\r\ntwo\n\nthree"), []byte("\x00\x05\x05\x05\x05\x05\x0a\x40\x06\x20\x0b\x00"),
		uint16(3))
	f.Add(bytes.Repeat([]byte("0123456789abcde\n"), 5000),
		[]byte("\x12\xff\x02\x90\x03\xf0\x06\xff\x07\xff\x04\x0a\x01\x00\x0a\xff\x08\x01"),
		uint16(9000))
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"),
		[]byte("\x01\x01\x02\x02\x09\x09\x0b\x01\x05\x00\x05\x00"), uint16(1))
	f.Fuzz(func(t *testing.T, input, program []byte, piece uint16) {
		if len(program) > 200 || len(input) > 200_000 {
			return
		}
		netco.Start(netco.Options{})
		defer netco.Shutdown(context.Background())
		c, peer := withPeer(t)
		sent := testrun.Goroutine.Go(func() {
			for rest := input; len(rest) > 0; {
				n := min(max(1, int(piece), len(input)/50), len(rest))
				if _, err := peer.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
			peer.CloseWrite()
		})
		var received []byte
		reader := testrun.Goroutine.Go(func() { received, _ = io.ReadAll(peer) })

		b := socket.NewBuffered(c)
		b.SetLimit(1 << 20)
		var wrote bytes.Buffer
		model := bufio.NewReadWriter(bufio.NewReaderSize(bytes.NewReader(input), 1<<20),
			bufio.NewWriter(&wrote))
		for i := 0; i+1 < len(program); i += 2 {
			arg := int(program[i+1])
			got := step(program[i], arg, b, b, b)
			want := step(program[i], arg, model.Reader, model.Writer, nil)
			if got != want {
				t.Fatalf("step %d, %d(%d):\ngot  %s\nwant %s", i/2, program[i]%12, arg, got, want)
			}
		}
		rest, err := io.ReadAll(b)
		want, _ := io.ReadAll(model)
		if err != nil || !bytes.Equal(rest, want) {
			t.Fatalf("%d bytes were left, %v, want %d", len(rest), err, len(want))
		}
		testenv.OK(t, b.Flush())
		if r, w := b.Holds(); r || w {
			t.Errorf("holds buffers at the end: %v, %v", r, w)
		}
		b.Close()
		model.Flush()
		testrun.WaitAll(t, sent, reader)
		if !bytes.Equal(received, wrote.Bytes()) {
			t.Errorf("the peer got %d bytes, want %d", len(received), wrote.Len())
		}
	})
}

type lineReader interface {
	io.Reader
	io.ByteReader
	Peek(int) ([]byte, error)
	Discard(int) (int, error)
	ReadSlice(byte) ([]byte, error)
}

type textWriter interface {
	io.Writer
	io.ByteWriter
	io.StringWriter
	AvailableBuffer() []byte
	Flush() error
}

// step does one operation and returns what came of it.
func step(op byte, arg int, r lineReader, w textWriter, b *socket.Buffered) string {
	size := arg * arg // up to 65025
	switch op % 12 {
	case 0, 1:
		p := make([]byte, size)
		n, err := io.ReadFull(r, p)
		return fmt.Sprintf("%q %v", p[:n], err)
	case 2:
		p, err := r.Peek(size)
		return fmt.Sprintf("%q %v", p, err)
	case 3:
		n, err := r.Discard(size)
		return fmt.Sprint(n, err)
	case 4:
		p, err := r.ReadSlice(byte(arg))
		return fmt.Sprintf("%q %v", p, err)
	case 5:
		if b != nil {
			p, err := b.ReadLine()
			return fmt.Sprintf("%q %v", p, err)
		}
		p, err := r.ReadSlice('\n') // bufio's ReadLine takes the rest of the stream for a line
		if err == io.EOF && len(p) > 0 {
			p, err = nil, io.ErrUnexpectedEOF
		}
		p, found := bytes.CutSuffix(p, []byte("\n"))
		if found {
			p = bytes.TrimSuffix(p, []byte("\r"))
		}
		return fmt.Sprintf("%q %v", p, err)
	case 6:
		c, err := r.ReadByte()
		return fmt.Sprint(c, err)
	case 7:
		n, err := w.Write(pattern(size))
		return fmt.Sprint(n, err)
	case 8:
		n, err := w.WriteString(string(pattern(size)))
		return fmt.Sprint(n, err)
	case 9:
		return fmt.Sprint(w.WriteByte(byte(arg)))
	case 10:
		n, err := w.Write(append(w.AvailableBuffer(), pattern(size)...))
		return fmt.Sprint(n, err)
	}
	return fmt.Sprint(w.Flush())
}
