// Package activation takes the fds that systemd hands over to a service, or any
// parent that does as systemd does (sd_listen_fds(3)).
package activation

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The fds that a process is started with begin at firstFD. As fds are ints in
// C, there are at most maxFDs.
const (
	firstFD = 3
	maxFDs  = math.MaxInt32 - firstFD
)

// Files returns the fds that the process was started with: LISTEN_FDS is how
// many there are, from fd 3 on; LISTEN_PID is the process that they are for,
// which a parent that cannot know it leaves out; LISTEN_FDNAMES has a name for
// each, with colons in between, and may be missing. Without LISTEN_FDS, or for
// another process, there are none, and no error.
//
// It is for one call, at the beginning: the variables are taken out of the
// environment, so that neither a later call nor a child finds them. The fds are
// closed on exec from then on.
func Files() ([]*os.File, error) {
	count, pid, names := os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_PID"),
		os.Getenv("LISTEN_FDNAMES")
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if count == "" {
		return nil, nil
	}
	if pid != "" {
		id, err := strconv.ParseUint(pid, 10, 31)
		if err != nil || id == 0 {
			return nil, fmt.Errorf("LISTEN_PID is %q, want the number of a process", pid)
		}
		if int(id) != os.Getpid() {
			return nil, nil
		}
	}
	n, err := strconv.ParseUint(count, 10, 31)
	if err != nil || n > maxFDs {
		return nil, fmt.Errorf("LISTEN_FDS is %q, want a number of fds, at most %d", count, maxFDs)
	}
	return take(int(n), names)
}

// take makes files of n fds. One that is closed on exec cannot have come
// through exec: it is this process's own, and the variable is wrong.
func take(n int, names string) (files []*os.File, err error) {
	labels := strings.Split(names, ":")
	switch {
	case names == "":
		labels = nil
	case len(labels) != n:
		err = fmt.Errorf("LISTEN_FDNAMES is %q, %d names for LISTEN_FDS=%d", names, len(labels), n)
	}
	for i := 0; i < n && err == nil; i++ {
		fd := firstFD + i
		flags, ferr := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if ferr == nil && flags&unix.FD_CLOEXEC != 0 {
			ferr = unix.EBADF
		}
		if ferr != nil {
			err = fmt.Errorf("LISTEN_FDS is %d, but fd %d was not handed over: %w", n, fd, ferr)
			break
		}
		unix.CloseOnExec(fd)
		name := "unknown"
		if labels != nil {
			name = labels[i]
		}
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, err
	}
	return files, nil
}
