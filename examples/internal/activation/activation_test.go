package activation_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/netco-go/netco/examples/internal/activation"
)

// TestMain is what TestFiles starts, too: it writes what it was handed.
func TestMain(m *testing.M) {
	if os.Getenv("ACTIVATED") == "" {
		os.Exit(m.Run())
	}
	files, err := activation.Files()
	if err != nil {
		fmt.Print(err)
	}
	for _, f := range files {
		text, err := io.ReadAll(f)
		fmt.Print(f.Name(), " ", string(text), " ", err, "; ")
	}
	again, err := activation.Files()
	fmt.Print(len(again), err, os.Getenv("LISTEN_FDS"))
}

// TestFiles starts a child as systemd starts a service, well or badly.
func TestFiles(t *testing.T) {
	const over = "0 <nil>" // of the second call
	for _, c := range []struct {
		env   string // LISTEN_PID=self is the child's
		files int
		want  string
	}{
		{"LISTEN_FDS=2 LISTEN_PID=self LISTEN_FDNAMES=a:", 2, "a file 0 <nil>;  file 1 <nil>; "},
		{"LISTEN_FDS=1 LISTEN_FDNAMES=a", 1, "a file 0 <nil>; "},
		{"LISTEN_FDS=1 LISTEN_PID=self", 1, "unknown file 0 <nil>; "},
		{"", 1, ""},
		{"LISTEN_FDS=1 LISTEN_PID=1", 1, ""},
		{"LISTEN_FDS=0 LISTEN_PID=self", 0, ""},
		{"LISTEN_FDS=some", 1, `LISTEN_FDS is "some", want a number of fds, at most 2147483644`},
		{"LISTEN_FDS=-1", 1, `LISTEN_FDS is "-1", want a number of fds, at most 2147483644`},
		{"LISTEN_FDS=2147483645", 1,
			`LISTEN_FDS is "2147483645", want a number of fds, at most 2147483644`},
		{"LISTEN_FDS=2147483644", 2,
			"LISTEN_FDS is 2147483644, but fd 5 was not handed over: bad file descriptor"},
		{"LISTEN_FDS=1 LISTEN_PID=0", 1, `LISTEN_PID is "0", want the number of a process`},
		{"LISTEN_FDS=1 LISTEN_PID=me", 1, `LISTEN_PID is "me", want the number of a process`},
		{"LISTEN_FDS=2 LISTEN_FDNAMES=a", 2, `LISTEN_FDNAMES is "a", 1 names for LISTEN_FDS=2`},
		{"LISTEN_FDS=1 LISTEN_FDNAMES=a:b", 1,
			`LISTEN_FDNAMES is "a:b", 2 names for LISTEN_FDS=1`},
	} {
		// A shell that becomes the child has its pid.
		cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(c.env, "=self", "=$$")+
			` ACTIVATED=1 exec "$0"`, os.Args[0])
		for i := range c.files {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, "file ", i)
			w.Close()
			defer r.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, r)
		}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.want+over {
			t.Errorf("%s: %q, %v, want %q", c.env, out, err, c.want+over)
		}
	}
}
