package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// spareFiles are the descriptors a process needs beside its connections.
const spareFiles = 64

// checkNoFile refuses more connections than a process may have open files. Go
// has raised the soft limit to the hard one.
func checkNoFile(conns int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("getrlimit: %w", err)
	}
	if uint64(conns)+spareFiles > limit.Cur {
		return usagef("%d connections need %d open files, the hard limit is %d (see ulimit -Hn)",
			conns, conns+spareFiles, limit.Cur)
	}
	return nil
}
