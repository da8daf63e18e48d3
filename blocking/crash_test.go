package blocking_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/testenv"
)

var children = testenv.Children{
	"left by context":  leftByContext,
	"left by shutdown": leftByShutdown,
	"not recovered":    notRecovered,
}

// TestCrash: a panic in an abandoned call ends the program as any does, and
// shows where it happened.
func TestCrash(t *testing.T) {
	for name := range children {
		t.Run(name, func(t *testing.T) {
			cmd := children.Command(t, name)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("ended with %v", err)
			}
			for _, want := range []string{"panic: ", "text", "whereItHappens", "panic_test.go"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if n := strings.Count(string(out), "panic: "); n != 1 {
				t.Errorf("%d panics:\n%s", n, out)
			}
			if strings.Contains(string(out), "goes on") {
				t.Errorf("it went on:\n%s", out)
			}
		})
	}
}

func leftByContext() {
	var p blocking.Pool
	left := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	netco.Go(func() {
		p.Do(ctx, func() {
			cancel()
			<-left
			whereItHappens("text")
		})
		close(left)
	})
	time.Sleep(limit)
	fmt.Println("goes on")
}

func leftByShutdown() {
	entered, left := make(chan struct{}), make(chan struct{})
	netco.Go(func() {
		blocking.Do(bg, func() {
			close(entered)
			<-left
			whereItHappens("text")
		})
	})
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	netco.Shutdown(ctx)
	close(left)
	time.Sleep(limit)
	fmt.Println("goes on")
}

// notRecovered panics for a caller that still waits, which panics in turn.
func notRecovered() {
	netco.Go(func() { blocking.Do(bg, func() { whereItHappens("text") }) })
	time.Sleep(limit)
	fmt.Println("goes on")
}
