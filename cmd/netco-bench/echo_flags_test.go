package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseEchoDefaults(t *testing.T) {
	c, err := parseEcho([]string{"-servers", "net"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Conns, []int{64}) || c.Traffic[0] != (traffic{64, 1}) || c.Procs != 0 ||
		c.ServerCPUs != nil || c.Spin != "auto" {
		t.Errorf("defaults: %+v", c)
	}
	// Both servers, three rounds each.
	c.Servers = []string{"net", "netco"}
	if c.total() != 30*time.Second {
		t.Errorf("the default run takes %v, want 30s", c.total())
	}
}

func TestParseEcho(t *testing.T) {
	c, err := parseEcho(strings.Fields("-servers net -conns 1,64,1000 -verify -spin off "+
		"-pipeline 4"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Conns, []int{1, 64, 1000}) || !c.Verify ||
		c.Traffic[0] != (traffic{64, 4}) {
		t.Errorf("parsed: %+v", c)
	}
}

func TestParseEchoRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-conns 0", "positive"},
		{"-conns 1,,2", "positive"},
		{"-conns x", "positive"},
		{"-conns 100000000", "open files"},
		{"-size 0", "-size"},
		{"-size 99999999999", "-size"},
		{"-pipeline 0", "-pipeline"},
		{"-size 1048576 -pipeline 1000", "of up to 67108864 in flight"},
		{"-duration 1ms", "-duration"},
		{"-duration fast", "-duration"},
		{"-warmup -1s", "-warmup"},
		{"-rounds 0", "-rounds"},
		{"-procs -1", "-procs"},
		{"-threads 0", "-threads"},
		{"-servers nginx", "unknown server"},
		{"-servers ,", "unknown server"},
		{"-servers net,net", "twice"},
		{"-spin maybe", "-spin"},
		{"-pin -procs 2", "-pin"},
		{"-rate 0", "1 to 10M, such as 500, 30k or 1.5M"},
		{"-rate 10k,", "1 to 10M"},
		{"-rate 0.5", "whole number"},
		{"-rate=", "whole number"},
		{"-rate 10k -pipeline 1", "-pipeline is for the closed loop"},
		{"-rate 1 -duration 100ms", "-rate 1 intends no request"},
		{"-rate 1M -duration 10m", "must not exceed 67108864 requests"},
		{"-rate 10k -arrival bursts", "uniform or poisson"},
		{"-arrival poisson", "-arrival goes with -rate"},
		{"-quota -1", "-quota must be 0.01 to 1024 cores"},
		{"-quota 0.001", "-quota must be 0.01"},
		{"-quota NaN", "-quota must be 0.01"},
		{"-quota half", "-quota"},
		{"-busy -1", "-busy must be 0 to 1024"},
		{"-work 40", "-work: \"40\" is no time"},
		{"-work 5us,2ms:0.05 -size 1", "-size of 2 or more"},
		{"-work 5us,2ms:0.05 -size 4093", "no multiple of 4093"},
		{"-work 5us -servers net,netco-idle", "netco-idle computes nothing"},
		{"-no-such-flag", "no-such-flag"},
		{"stray", "unexpected argument"},
	} {
		args := strings.Fields(c.args)
		if !strings.Contains(c.args, "-servers") {
			args = append([]string{"-servers", "net"}, args...)
		}
		_, err := parseEcho(args, io.Discard)
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want a usage error with %q", c.args, err, c.want)
		}
	}
}
