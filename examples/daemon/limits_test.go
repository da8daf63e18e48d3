package main

import (
	"bytes"
	"errors"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cosync"
	"github.com/netco-go/netco/socket"
)

// TestJobsAreBounded: clients cannot fill the goroutines that block for all.
// 256 of them could, for an hour: maxPause was the bound of a job's length,
// and there was none of the number of jobs.
func TestJobsAreBounded(t *testing.T) {
	d := start(t)
	c := d.dial("tcp")
	n := c.send(cmdHash, u32s(1001), []byte("hello"))
	if s, number, body, err := c.receive(); s != statusError || number != n || err != nil ||
		!strings.Contains(string(body), "1000 at most") {
		t.Errorf("a long job: status %d, number %d, %q, %v", s, number, body, err)
	}
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
	s := &service{jobs: cosync.NewSemaphore(1), jobWait: time.Millisecond}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // which accepts nothing: the kernel does
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := socket.Dial("tcp", ln.Addr().String())
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
