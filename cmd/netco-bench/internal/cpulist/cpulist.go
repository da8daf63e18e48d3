// Package cpulist parses CPU lists ("0,2-3") and binds threads to them.
package cpulist

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	_ "github.com/netco-go/netco/asm" // ends a build for other platforms
)

// maxCPU is the highest CPU number a unix.CPUSet holds.
const maxCPU = 1023

// Parse reads a list as taskset -c takes it: numbers and ranges, comma
// separated. An empty string is an empty list, which means "not bound".
func Parse(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := parseCPU(first)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", s, err)
		}
		high := low
		if isRange {
			if high, err = parseCPU(last); err != nil {
				return nil, fmt.Errorf("CPU list %q: %w", s, err)
			}
		}
		if high < low {
			return nil, fmt.Errorf("CPU list %q: range %s runs backwards", s, part)
		}
		for cpu := low; cpu <= high; cpu++ {
			list = append(list, cpu)
		}
	}
	return list, nil
}

func parseCPU(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxCPU {
		return 0, fmt.Errorf("%q is no CPU number", s)
	}
	return n, nil
}

// Allowed returns the CPUs the calling thread may run on.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var list []int
	for cpu := range maxCPU + 1 {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list, nil
}

// Bind locks the calling goroutine to its thread and the thread to cpus (to
// none in particular when cpus is empty). The caller must call release on the
// same goroutine; it undoes both. The thread survives: a thread that ends takes
// the children it started with it, where Pdeathsig is set.
func Bind(cpus []int) (release func(), err error) {
	runtime.LockOSThread()
	if len(cpus) == 0 {
		return runtime.UnlockOSThread, nil
	}
	var old, set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err = unix.SchedGetaffinity(0, &old); err == nil {
		err = unix.SchedSetaffinity(0, &set)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("bind to CPUs %v: %w", cpus, err)
	}
	return func() {
		_ = unix.SchedSetaffinity(0, &old) // it was allowed a moment ago
		runtime.UnlockOSThread()
	}, nil
}
