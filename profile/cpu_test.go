package profile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/profile"
)

// field is one field of a protobuf message: a number, or bytes.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

// fields decodes a message as far as a profile needs it.
func fields(t *testing.T, b []byte) (all []field) {
	t.Helper()
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatal("no protobuf message")
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		key := number()
		f := field{number: int(key >> 3)}
		switch key & 7 {
		case 0:
			f.value = number()
		case 2:
			n := number()
			f.bytes, b = b[:n], b[n:]
		default:
			t.Fatalf("wire type %d", key&7)
		}
		all = append(all, f)
	}
	return all
}

// samples adds up the samples of a CPU profile by the value of each label, as
// "key=value".
func samples(t *testing.T, profile []byte) map[string]int {
	t.Helper()
	z := testenv.Must(gzip.NewReader(bytes.NewReader(profile)))
	raw := testenv.Must(io.ReadAll(z))
	const sample, stringTable = 2, 6
	var text []string
	message := fields(t, raw)
	for _, f := range message {
		if f.number == stringTable {
			text = append(text, string(f.bytes))
		}
	}
	by := map[string]int{}
	for _, f := range message {
		if f.number != sample {
			continue
		}
		const value, label, key, str = 2, 3, 1, 2
		n := -1
		for _, g := range fields(t, f.bytes) {
			// The first of two: how many; alone, or packed with the other.
			if g.number == value && n < 0 {
				v := g.value
				if g.bytes != nil {
					v, _ = binary.Uvarint(g.bytes)
				}
				n = int(v)
			}
			if g.number == label {
				var k, s string
				for _, h := range fields(t, g.bytes) {
					switch h.number {
					case key:
						k = text[h.value]
					case str:
						s = text[h.value]
					}
				}
				by[k+"="+s] += n
			}
		}
	}
	return by
}

var sink atomic.Uint64

func compute() {
	x := sink.Load()
	for range 10_000 {
		x = x*6364136223846793005 + 1
	}
	sink.Store(x)
}

// TestCPUProfile: a profile can be cut by the names of coroutines that share a
// thread, with labels of the user's as well.
func TestCPUProfile(t *testing.T) {
	start(t, 1)
	defer profile.Labels()()
	var over atomic.Bool
	var at atomic.Int32
	work := func() {
		at.Add(1)
		for !over.Load() {
			compute()
			netco.Yield()
		}
	}
	netco.GoWith(netco.Spawn{Name: "left", Fn: work})
	netco.GoWith(netco.Spawn{Name: "right", Fn: func() {
		pprof.Do(profile.Context(context.Background()), pprof.Labels("user", "x"),
			func(context.Context) { work() })
	}})
	defer over.Store(true)
	for at.Load() < 2 { // both have all their labels
		time.Sleep(time.Millisecond)
	}
	// There may be no sample, if others take the processor.
	for giveUp := time.Now().Add(time.Minute); ; {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		pprof.StopCPUProfile()
		by := samples(t, b.Bytes())
		if by["coroutine=left"] > 0 && by["coroutine=right"] > 0 && by["user=x"] > 0 {
			if by["coroutine=right"] != by["user=x"] {
				t.Errorf("%d samples have the name, %d the user's label", by["coroutine=right"],
					by["user=x"])
			}
			return
		}
		if time.Now().After(giveUp) {
			t.Fatalf("samples: %v", by)
		}
	}
}
