package main

import (
	"io"
	"strings"
	"testing"
)

// TestProxyEndToEnd measures all proxies with every byte compared, and reads
// the table and the report.
func TestProxyEndToEnd(t *testing.T) {
	warmedUp(t)
	noChildren(t)
	sameFiles(t)
	stdout, stderr, _ := measured(t, "proxy -conns 4 -size 1000,100000x3 -warmup 10ms -rounds 2 "+
		"-verify", 12)
	for _, want := range []string{"1000 B, 1 in flight", "100000 B, 3 in flight", "CPU ms/GiB",
		"CPU, netco / net-copy: ", "CPU, netco / net-splice: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "round 12/12: 4 conns, 100000x3 bytes, net-copy: ") {
		t.Errorf("progress:\n%s", stderr)
	}
}

func TestProxyFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-servers nonsense":     `unknown server "nonsense"`,
		"-servers netco,netco":  "netco twice",
		"-size 0":               "-size 0: want up to",
		"-size 10x":             "-size 10x: want",
		"-size 1024,-1":         "-size -1: want",
		"-size 1048576x1000":    "of up to 67108864 in flight",
		"-size 99999999":        "up to 16777216 bytes",
		"-conns 0":              "-conns",
		"-rounds 0":             "-rounds",
		"-pin -procs 2":         "-pin",
		"-spin maybe":           "-spin",
		"unexpected":            "unexpected argument",
		"-duration 1ns -size 1": "-duration",
	} {
		if _, err := parseProxy(strings.Fields(args), io.Discard); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	c, err := parseProxy(strings.Fields("-size 64,2048x16 -servers netco"), io.Discard)
	if err != nil || len(c.Traffic) != 2 || c.Traffic[1] != (traffic{2048, 16}) ||
		c.Traffic[1].String() != "2048x16" || len(c.Servers) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestProxyServerFails: a proxy that does not start is reported, and leaves no
// process.
func TestProxyServerFails(t *testing.T) {
	noChildren(t)
	cfg, err := parseProxy(strings.Fields("-duration 1s -conns 1"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Servers = []string{"unborn"}
	if _, err := measureEcho(t.Context(), cfg, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no such luck") {
		t.Errorf("%v", err)
	}
}
