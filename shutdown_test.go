package netco_test

import (
	"errors"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
)

// TestAfterShutdown: nothing that starts the default Scheduler by the way does
// so after its Shutdown: a goroutine that was late started threads that nothing
// would end. Start and Run, which ask for it, do.
func TestAfterShutdown(t *testing.T) {
	mustNot := func() { t.Error("it has run") }
	calls := map[string]func() error{
		"Go":      func() error { _, err := netco.Go(mustNot); return err },
		"GoNamed": func() error { _, err := netco.GoNamed("late", mustNot); return err },
		"GoLocal": func() error { _, err := netco.GoLocal(mustNot); return err },
		"GoOn":    func() error { _, err := netco.GoOn(0, mustNot); return err },
		"Default": func() error { _, err := netco.Default(); return err },
		"coroutine.Start": func() error {
			_, err := coroutine.Start(coroutine.Spec{Fn: mustNot})
			return err
		},
	}
	ends := map[string]func(){
		"Start and Shutdown": func() {
			if err := netco.Start(netco.Options{Processors: 1}); err != nil {
				t.Fatal(err)
			}
			shutdown(t)
		},
		"Run and Shutdown": func() {
			if err := netco.Run(func() {}); err != nil {
				t.Fatal(err)
			}
			shutdown(t)
		},
		"EventLoop": func() {
			if err := netco.EventLoop(netco.Options{}, func() bool { return false }); err != nil {
				t.Fatal(err)
			}
		},
	}
	for end, f := range ends {
		f()
		for name, call := range calls {
			if err := call(); !errors.Is(err, netco.ErrShutdown) {
				t.Errorf("%s after %s: %v, want %v", name, end, err, netco.ErrShutdown)
			}
		}
		fired := make(chan bool)
		netco.AfterFunc(0, func() { fired <- netco.Self() != nil })
		if <-fired {
			t.Errorf("AfterFunc after %s: called in a coroutine", end)
		}
		if s, err := netco.Default(); err == nil {
			t.Fatalf("after %s: %d Processors run", end, s.Processors())
		}
	}
	netco.ForgetShutdown() // the other tests start where they find it
}
