// Command setenv is libco's example of that name: coroutines that each set a
// variable of the environment and later find in it what they have set, whatever
// the others have set meanwhile. libco hooks setenv and getenv to that end, for
// the names in a list. Go's environment is the process's; here settings of a
// coroutine are a Local, in front of the environment. The coroutines that it
// starts inherit its settings, and change a copy.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/netco-go/netco"
)

// settings are the calling coroutine's.
var settings = netco.NewLocal(netco.LocalOptions[map[string]string]{
	Make:    func() map[string]string { return map[string]string{} },
	Inherit: func(parent *map[string]string) map[string]string { return maps.Clone(*parent) },
})

func setenv(name, value string) { (*settings.Get())[name] = value }

func unsetenv(name string) { delete(*settings.Get(), name) }

// getenv returns the caller's own setting, or else the process's.
func getenv(name string) string {
	if own := settings.Peek(); own != nil {
		if value, ok := (*own)[name]; ok {
			return value
		}
	}
	return os.Getenv(name)
}

func main() {
	if err := run(os.Stdout, 3, 500*time.Millisecond); err != nil {
		fmt.Fprintln(os.Stderr, "setenv:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, n int, pause time.Duration) error {
	defer netco.Shutdown(context.Background())
	w = &lines{w: w}
	var failed error
	err := netco.Run(func() {
		for i := range n {
			if _, failed = netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				routine(w, i, pause)
			}}); failed != nil {
				return
			}
		}
	})
	return errors.Join(err, failed)
}

func routine(w io.Writer, id int, pause time.Duration) {
	say := func(what string) {
		fmt.Fprintf(w, "routine %d %s CGINAME %q\n", id, what, getenv("CGINAME"))
	}
	say("begins with")
	setenv("CGINAME", fmt.Sprint("cgi_routine_", id))
	say("has set")
	netco.Sleep(pause) // the others set theirs
	say("still has")
	child, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
		say("has a child that inherits")
		setenv("CGINAME", "changed by a child")
	}})
	if err != nil {
		return
	}
	child.Join()
	say("still has")
	unsetenv("CGINAME")
	say("ends with")
}

// lines writes one line at a time.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
