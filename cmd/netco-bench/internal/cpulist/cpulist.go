// Package cpulist says which CPUs there are, and binds threads to them.
package cpulist

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	_ "github.com/netco-go/netco/asm" // ends a build for other platforms
)

// maxCPU is the highest CPU number a unix.CPUSet holds.
const maxCPU = 1023

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

// Two returns two of the allowed CPUs, for what is to run apart.
func Two() ([]int, error) {
	all, err := Allowed()
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("two CPUs are needed, this process may use %v", all)
	}
	if err != nil {
		return nil, err
	}
	return all[:2], nil
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
