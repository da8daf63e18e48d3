package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

const (
	ok    = "+OK\r\n"
	none  = "$-1\r\n"
	one   = ":1\r\n"
	zero  = ":0\r\n"
	noInt = "-ERR value is not an integer or out of range\r\n"
)

// TestBigValues: values and requests larger than any buffer, pipelined.
func TestBigValues(t *testing.T) {
	addr := start(t, 2)
	p := connect(t, addr)
	var values []string
	var all strings.Builder
	for i, size := range []int{0, 1, large - 1, large, 16<<10 - 20, 16 << 10, 100_000, 3 << 20} {
		values = append(values, strings.Repeat(strconv.Itoa(i), size))
		all.WriteString(request("SET", fmt.Sprint("k", i), values[i]))
	}
	mget := []string{"MGET"}
	for range 3 {
		for i := range values {
			mget = append(mget, fmt.Sprint("k", i))
			all.WriteString(request("GET", fmt.Sprint("k", i)))
		}
	}
	all.WriteString(request(mget...))
	all.WriteString(request("ECHO", values[7]))
	go io.WriteString(p, all.String())
	for range values {
		if got := p.answer(); got != ok {
			t.Fatalf("SET: %.100q", got)
		}
	}
	wantAll := fmt.Sprintf("*%d\r\n", 3*len(values))
	for range 3 {
		for i := range values {
			wantAll += bulk(values[i])
			if got := p.answer(); got != bulk(values[i]) {
				t.Errorf("GET: %d bytes, want %d", len(got), len(values[i]))
			}
		}
	}
	if got := p.answer(); got != wantAll {
		t.Errorf("MGET: %d bytes, want %d", len(got), len(wantAll))
	}
	if got := p.answer(); got != bulk(values[7]) {
		t.Errorf("ECHO: %d bytes", len(got))
	}
	p.Close()
}

// TestExpiry: keys end when they are asked for, and when they are not.
func TestExpiry(t *testing.T) {
	addr := start(t, 2)
	p := connect(t, addr)
	p.expect(ok, "SET", "a", "1", "PX", "1")
	p.expect(ok, "SET", "b", "1", "PX", "100000")
	testenv.Until(t, "a to expire", func() bool { return p.ask("GET", "a") == none })
	p.expect(":-2\r\n", "TTL", "a")
	p.expect(ok, "SET", "a", "2")
	for i := range 1000 {
		p.expect(ok, "SET", fmt.Sprint("k", i), "x", "PX", "1")
	}
	testenv.Until(t, "a thousand to expire that nobody asks for", func() bool {
		return p.ask("DBSIZE") == ":2\r\n"
	})
	p.expect(bulk("1"), "GET", "b")
	p.Close()
}

// TestIncr: no count is lost among many connections on two Processors.
func TestIncr(t *testing.T) {
	addr := start(t, 2)
	const conns, each = 20, 500
	var wg sync.WaitGroup
	for range conns {
		p := connect(t, addr)
		wg.Go(func() {
			p.send(strings.Repeat(request("INCR", "n"), each))
			last := 0
			for range each {
				line, err := p.in.ReadString('\n')
				n, err2 := strconv.Atoi(strings.TrimSpace(line[1:]))
				if err != nil || err2 != nil || n <= last {
					t.Errorf("%q after %d, %v", line, last, err)
					return
				}
				last = n
			}
			p.Close()
		})
	}
	wg.Wait()
	p := connect(t, addr)
	p.expect(bulk(strconv.Itoa(conns*each)), "GET", "n")
	p.Close()
}

// TestMSetIsOneStep: who asks for several keys at once never sees half of an
// MSET.
func TestMSetIsOneStep(t *testing.T) {
	addr := start(t, 2)
	var wg sync.WaitGroup
	for i := range 4 {
		p := connect(t, addr)
		wg.Go(func() {
			for n := range 300 {
				v := fmt.Sprint(i, n)
				p.expect(ok, "MSET", "a", v, "b", v, "c", v)
				got := strings.Split(p.ask("MGET", "a", "b", "c"), "\r\n")
				if got[2] != got[4] || got[4] != got[6] {
					t.Errorf("%q", got)
				}
			}
			p.Close()
		})
	}
	wg.Wait()
}
