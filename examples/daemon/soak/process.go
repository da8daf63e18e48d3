package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// sample is the daemon's process as the kernel sees it.
type sample struct {
	at         time.Duration // since the load began
	rss        int64         // bytes
	fds        int
	threads    int
	goroutines int // from the last scrape
}

func sampleProcess(pid int) (s sample, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	f, err := os.Open(dir + "status")
	if err != nil {
		return s, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "VmRSS":
			fmt.Sscan(value, &s.rss)
			s.rss <<= 10
		case "Threads":
			fmt.Sscan(value, &s.threads)
		}
	}
	fds, err := os.ReadDir(dir + "fd")
	s.fds = len(fds)
	return s, err
}
