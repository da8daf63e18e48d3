package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// TestJobsAreBounded: clients cannot fill the goroutines that block for all.
// 256 of them could, for an hour: maxPause was the bound of a job's length,
// and there was none of the number of jobs.
func TestJobsAreBounded(t *testing.T) {
	d := start(t)
	c := d.dial("tcp")
	c.refused(c.send(cmdHash, u32s(1001), []byte("hello")), "1000 at most")
	const clients = 2 * maxJobs
	all := make([]*client, clients)
	numbers := make([]uint32, clients)
	for i := range all {
		all[i] = d.dial("tcp")
		numbers[i] = all[i].send(cmdHash, u32s(300), []byte("hello"))
	}
	running := regexp.MustCompile(`(?m)^netco_blocking_calls\{state="running"\} (\d+)$`)
	served := 0
	for i, c := range all {
		if i%16 == 0 {
			_, body := d.get("/metrics")
			m := running.FindStringSubmatch(body)
			if m == nil {
				t.Fatal("no figure for the calls that block")
			}
			if n, _ := strconv.Atoi(m[1]); n > maxJobs {
				t.Errorf("%d jobs at a time", n)
			}
		}
		switch s, number, body, err := c.receive(); {
		case number != numbers[i] || err != nil:
			t.Fatalf("client %d: number %d, %v", i, number, err)
		case s == statusDone:
			served++
		case !strings.Contains(string(body), "too many jobs"): // on a slow machine
			t.Fatalf("client %d: status %d, %q", i, s, body)
		}
	}
	if served == 0 {
		t.Error("none is served")
	}
}

// TestTooManyJobs: a job that gets no turn in time is refused, and its
// connection stays.
func TestTooManyJobs(t *testing.T) {
	s := &service{jobs: sync.NewSemaphore(1), jobWait: time.Millisecond}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // which accepts nothing: the kernel does
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := netco.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b := socket.NewBuffered(c.(socket.Stream))
	defer b.Close()
	s.jobs.Acquire(1)
	args := append(u32s(0), "hello"...)
	var refused refusal
	if err := s.do(b, request{command: cmdHash, args: args}); !errors.As(err, &refused) ||
		!strings.Contains(refused.Error(), "too many jobs") {
		t.Errorf("without a unit left: %v", err)
	}
	s.jobs.Release(1)
	for range 2 { // which gives its unit back
		if err := s.do(b, request{command: cmdHash, args: args}); err != nil {
			t.Errorf("with one: %v", err)
		}
	}
}

// TestStreamsAreSmall: a stream of large frames that waits costs no frame's
// memory.
func TestStreamsAreSmall(t *testing.T) {
	d := start(t)
	const conns, size = 48, 1 << 20
	frame := make([]byte, size)
	fill(frame, 1)
	for range conns {
		c := d.dial("tcp")
		n := c.send(cmdStream, u32s(2, size, 60_000), u64(1))
		c.wants(statusMore, n, frame)
	}
	d.get("/debug/pprof/heap?gc=1")
	_, body := d.get("/metrics")
	m := regexp.MustCompile(`(?m)^go_memstats_heap_alloc_bytes (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("no figure for the heap")
	}
	if n, err := strconv.ParseFloat(m[1], 64); err != nil || n > conns*size/2 {
		t.Errorf("%.0f bytes of heap for %d streams, %v", n, conns, err)
	}
}

// TestLongFrame: a frame that is sent in chunks is what it would be at once.
func TestLongFrame(t *testing.T) {
	c := start(t).dial("tcp")
	n := c.send(cmdStream, u32s(2, 3*streamChunk+5, 0), u64(9))
	want := make([]byte, 3*streamChunk+5)
	seed := fill(want, 9)
	c.wants(statusMore, n, want)
	fill(want, seed)
	c.wants(statusDone, n, bytes.Clone(want))
}

// TestWorkIsBounded: what few bytes ask for is bounded with all its children.
func TestWorkIsBounded(t *testing.T) {
	c := start(t).dial("tcp")
	c.refused(c.send(cmdFanOut, u32s(2, maxRounds/2+1), u64(1)), "")
	n := c.send(cmdFanOut, u32s(2, maxRounds/2), u64(1))
	if s, number, _, err := c.receive(); s != statusDone || number != n || err != nil {
		t.Errorf("as many as it may have: status %d, number %d, %v", s, number, err)
	}
}

// minutes is how many requests of maxRounds take a CPU some minutes.
const minutes = 6000

// work is that many of them.
func work() []byte {
	var frames []byte
	for number := range uint32(minutes) {
		frames = binary.BigEndian.AppendUint32(frames, headSize+16)
		frames = append(frames, byte(cmdFanOut))
		frames = append(binary.BigEndian.AppendUint32(frames, number), u32s(16, maxRounds/16)...)
		frames = append(frames, u64(1)...)
	}
	return frames
}

// TestLeavesWorkBehind: a client that asks for minutes of work and leaves is
// not worked for.
func TestLeavesWorkBehind(t *testing.T) {
	d := start(t)
	c := d.dial("tcp")
	go c.Write(work()) // no more than the buffers take
	if s, _, _, err := c.receive(); s != statusDone || err != nil {
		t.Fatalf("status %d, %v", s, err)
	}
	c.Close()
	d.eventually("its connection ends", func() bool {
		return d.answers("/metrics", http.StatusOK, "\ndaemon_connections_open 0\n")
	})
}

// TestEndsBesideWork: so many requests do not hold up the end.
func TestEndsBesideWork(t *testing.T) {
	d := start(t, "-grace", "1h")
	c := d.dial("tcp")
	go c.Write(work())
	if s, _, _, err := c.receive(); s != statusDone || err != nil {
		t.Fatalf("status %d, %v", s, err)
	}
	go io.Copy(io.Discard, c)
	d.signal(syscall.SIGTERM)
	d.ends(0)
}

// TestFramesShareMemory: large requests that do not come in share a bounded
// memory; one that gets none is refused, and small ones are served.
func TestFramesShareMemory(t *testing.T) {
	d := start(t, "-frame-memory", "2097152")
	const clients, size = 6, 1 << 20
	var all [clients]*client
	refused := make(chan string, clients)
	begun := binary.BigEndian.AppendUint32(nil, size)
	begun = append(append(begun, byte(cmdEcho)), make([]byte, size-1-1)...) // one byte is missing
	for i := range all {
		c := d.dial("tcp")
		all[i] = c
		go c.Write(begun)
		go func() {
			if s, _, body, err := c.receive(); err == nil && s == statusError {
				refused <- string(body)
			}
		}()
	}
	for range clients - 2 { // there is memory for 2
		select {
		case body := <-refused:
			if body != errNoMemory.Error() {
				t.Errorf("%q", body)
			}
		case <-time.After(limit):
			t.Fatal("more clients have memory than there is")
		}
	}
	d.dial("tcp").echoes("hello")
	for _, c := range all {
		c.Close()
	}
	d.eventually("there is memory again", func() bool {
		c := d.dial("tcp")
		defer c.Close()
		c.send(cmdEcho, make([]byte, size-headSize))
		s, _, _, err := c.receive()
		return err == nil && s == statusDone
	})
}
