package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/proc"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// serverSampler measures the server of -pid from the window's start to its end.
// A nil one measures nothing.
type serverSampler struct {
	pid        int
	start, end *serverFigures
	rssMax     int64
}

// serverFigures are what /proc says of a process at one time.
type serverFigures struct {
	cpu                    time.Duration
	user, system           int64 // clock ticks
	rss                    int64
	voluntary, involuntary int64
	reads, writes          int64
}

func newServerSampler(pid int) (*serverSampler, error) {
	if _, err := readServer(pid); err != nil {
		return nil, usagef("-pid %d: %v", pid, err)
	}
	return &serverSampler{pid: pid}, nil
}

// probe is for gen.Config.Probe.
func (s *serverSampler) probe(over bool) {
	f, err := readServer(s.pid)
	switch {
	case err != nil: // it has ended, which the load shows
	case over:
		s.end = f
	default:
		s.start = f
	}
}

// sample looks for the highest memory.
func (s *serverSampler) sample() {
	if s != nil {
		rss, _ := proc.RSS(s.pid)
		s.rssMax = max(s.rssMax, rss)
	}
}

func (s *serverSampler) result() *result.Server {
	if s == nil || s.start == nil || s.end == nil {
		return nil
	}
	a, b := s.start, s.end
	// The clock is exact, the ticks say how to divide it.
	cpu, share := b.cpu-a.cpu, 0.0
	if ticks := b.user + b.system - a.user - a.system; ticks > 0 {
		share = float64(b.user-a.user) / float64(ticks)
	}
	user := time.Duration(float64(cpu) * share)
	return &result.Server{
		PID: s.pid, User: result.Duration(user), System: result.Duration(cpu - user),
		RSSStart: a.rss, RSSEnd: b.rss, RSSMax: max(s.rssMax, a.rss, b.rss),
		Voluntary: b.voluntary - a.voluntary, Involuntary: b.involuntary - a.involuntary,
		Reads: b.reads - a.reads, Writes: b.writes - a.writes,
	}
}

func readServer(pid int) (*serverFigures, error) {
	f := &serverFigures{}
	var ts unix.Timespec
	// The clock of a process, as clock_getcpuclockid makes it.
	if err := unix.ClockGettime(int32(^uint32(pid))<<3|2, &ts); err != nil {
		return nil, fmt.Errorf("no such process")
	}
	f.cpu = time.Duration(ts.Nano())
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name, which may have spaces
	if fields := strings.Fields(rest); len(fields) > 12 {
		f.user, _ = strconv.ParseInt(fields[11], 10, 64)
		f.system, _ = strconv.ParseInt(fields[12], 10, 64)
	}
	if f.rss, err = proc.RSS(pid); err != nil {
		return nil, err
	}
	tasks, _ := filepath.Glob(filepath.Join(dir, "task", "*", "status"))
	count := func(n *int64, file, name string) {
		v, _ := proc.Field(file, name) // 0 of a thread that has ended
		*n += v
	}
	for _, t := range tasks {
		count(&f.voluntary, t, "voluntary_ctxt_switches")
		count(&f.involuntary, t, "nonvoluntary_ctxt_switches")
	}
	count(&f.reads, filepath.Join(dir, "io"), "syscr")
	count(&f.writes, filepath.Join(dir, "io"), "syscw")
	return f, nil
}
