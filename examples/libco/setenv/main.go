// Command setenv is libco's examples setenv and specific: coroutines that each
// set a variable of the environment and later find in it what they have set,
// whatever the others have set meanwhile. libco hooks setenv and getenv to that
// end, for the names in a list, and has a macro for other data of a coroutine,
// over pthread's keys. Go's environment is the process's; here settings of a
// coroutine are a Local, a typed variable of the program, in front of the
// environment. The coroutines that it starts inherit its settings, and change a
// copy. At its end they are dropped.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
)

// settings are the calling coroutine's, made when it first asks for them.
var settings = netco.NewLocal(netco.LocalOptions[map[string]string]{
	Make:    func() map[string]string { return map[string]string{} },
	Inherit: func(parent *map[string]string) map[string]string { return maps.Clone(*parent) },
	Drop:    func(own *map[string]string) { dropped.Add(1) },
})

var dropped atomic.Int64

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
		log.Fatal("setenv: ", err)
	}
}

func run(w io.Writer, n int, pause time.Duration) error {
	defer netco.Shutdown(context.Background())
	out := log.New(w, "", 0) // a line at a time, from every coroutine
	var failed error
	err := netco.Run(func() {
		for i := range n {
			if _, failed = netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				routine(out, i, pause)
			}}); failed != nil {
				return
			}
		}
	})
	out.Println("settings dropped:", dropped.Load())
	return errors.Join(err, failed)
}

func routine(out *log.Logger, id int, pause time.Duration) {
	say := func(what string) {
		out.Printf("routine %d %s CGINAME %q", id, what, getenv("CGINAME"))
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
