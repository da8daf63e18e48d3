package socket_test

import (
	"testing"

	"github.com/netco-go/netco/socket"
)

// TestNilSockaddr: Bind and Connect of a nil address return an error; they
// panic in x/sys/unix.
func TestNilSockaddr(t *testing.T) {
	start(t, 1)
	for name, f := range map[string]func(x *socket.Socket) error{
		"Bind":    func(x *socket.Socket) error { return x.Bind(nil) },
		"Connect": func(x *socket.Socket) error { return x.Connect(nil) },
	} {
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%s(nil) panics: %v", name, v)
				}
			}()
			if err := onSocket(f)(); err == nil {
				t.Errorf("%s(nil) succeeds", name)
			}
		}()
	}
}
