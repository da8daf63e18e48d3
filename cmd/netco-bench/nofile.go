package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// spareFiles are the descriptors a process needs beside its connections.
const spareFiles = 64

// raiseNoFile raises the soft limit of open files to the hard one and returns
// it.
func raiseNoFile() (uint64, error) {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 0, fmt.Errorf("getrlimit: %w", err)
	}
	if lim.Cur < lim.Max {
		lim.Cur = lim.Max
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return 0, fmt.Errorf("setrlimit: %w", err)
		}
	}
	return lim.Cur, nil
}

// checkNoFile refuses more connections than a process may have open files.
func checkNoFile(conns int) error {
	limit, err := raiseNoFile()
	if err != nil {
		return err
	}
	if uint64(conns)+spareFiles > limit {
		return usagef("%d connections need %d open files, the hard limit is %d (see ulimit -Hn)",
			conns, conns+spareFiles, limit)
	}
	return nil
}
