package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	_ "github.com/netco-go/netco/asm" // ends a build for other platforms
)

// Serve is the child's main loop: it says hello, answers requests and returns
// when in ends. Ctrl-C, which reaches the whole process group, is left to the
// parent: it ends the child when it has seen it.
func Serve(in io.Reader, out io.Writer, hello Hello) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	enc := json.NewEncoder(out)
	if err := enc.Encode(hello); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() != "stat" {
			return fmt.Errorf("unknown request %q", lines.Text())
		}
		s, err := usage()
		if err != nil {
			return err
		}
		if err := enc.Encode(s); err != nil {
			return err
		}
	}
	return lines.Err()
}

func usage() (Stat, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return Stat{}, fmt.Errorf("getrusage: %w", err)
	}
	return Stat{r.Utime.Nano() / 1000, r.Stime.Nano() / 1000, r.Nvcsw, r.Nivcsw}, nil
}
