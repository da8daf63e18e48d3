package stacks

import (
	"runtime"
	"testing"
)

// TestBlockedAt: the user's call among those that a coroutine was blocked in.
func TestBlockedAt(t *testing.T) {
	const own = "github.com/netco-go/netco/"
	for _, c := range []struct {
		name  string
		calls []string
		want  int // index; -1: none
	}{
		{"program", []string{"runtime.gopark", "time.Sleep", "main.f", "main.g"}, 2},
		{"library", []string{"runtime.gopark", "database/sql.(*DB).conn", "example.com/db.(*T).Get",
			"main.f"}, 2},
		{"generic", []string{"runtime.gopark", "example.com/db.(*T[...]).Get", "main.f"}, 1},
		{"type argument with a path",
			[]string{"runtime.gopark", "slices.SortFunc[go.shape.[]example.com/a.T]", "main.f"}, 2},
		{"vendored by Go", []string{"syscall.Syscall", "vendor/golang.org/x/net/http2.f",
			"net/http.(*T).Do", "main.f"}, 3},
		{"golang.org/x/sys", []string{"syscall.Syscall", "golang.org/x/sys/unix.Read",
			"example.com/a.f"}, 2},
		{"C", []string{"runtime.cgocall", "main._Cfunc_block", "main.f"}, 2},
		{"called by netco", []string{"runtime.gopark", "main.f", own + "sync.(*Mutex).With",
			"main.g"}, 1},
		{"in netco, called by the program",
			[]string{"syscall.Syscall", own + "socket.(*Conn).Close", "main.f"}, 2},
		{"all netco's", []string{"syscall.Syscall", own + "logging.write",
			own + "socket.(*Server).serve"}, 1},
		{"all Go's", []string{"runtime.gopark", "sync.(*WaitGroup).Wait"}, 1},
		{"none", nil, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var frames []runtime.Frame
			for i, name := range c.calls {
				frames = append(frames, runtime.Frame{Function: name, Line: i})
			}
			want := runtime.Frame{}
			if c.want >= 0 {
				want = frames[c.want]
			}
			if got := BlockedAt(frames); got != want {
				t.Errorf("%s in line %d, want %s", got.Function, got.Line, want.Function)
			}
		})
	}
}
