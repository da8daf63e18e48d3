package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestOwn: each coroutine finds its own data in each turn, though they take
// turns, and it is dropped once, at its end.
func TestOwn(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), &out, 10, 3, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		says, dropped := fmt.Sprintf("routine specific data idx %d\n", i),
			fmt.Sprintf("idx %d is dropped\n", i)
		if n := strings.Count(out.String(), says); n != 3 {
			t.Errorf("coroutine %d said it %d times, want 3", i, n)
		}
		if n := strings.Count(out.String(), dropped); n != 1 {
			t.Errorf("coroutine %d's was dropped %d times", i, n)
		}
		if last := strings.LastIndex(out.String(), says); last > strings.Index(out.String(),
			dropped) {
			t.Errorf("coroutine %d's was dropped before its end", i)
		}
	}
}

// third ends a run with the third line.
type third struct {
	strings.Builder
	lines int
	end   func()
}

func (w *third) Write(p []byte) (int, error) {
	if w.lines++; w.lines == 3 {
		w.end()
	}
	return w.Builder.Write(p)
}

// TestStop: those that a signal ends where they wait drop theirs too. If it
// came before they began, there is nothing to drop.
func TestStop(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := &third{end: cancel}
	if err := run(ctx, out, 3, 0, time.Hour); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != context.Canceled || out.lines != 6 ||
		strings.Count(out.String(), "dropped") != 3 {
		t.Errorf("%v, and not as many dropped as said:\n%s", ctx.Err(), out)
	}
	var none strings.Builder
	if err := run(ctx, &none, 3, 0, time.Hour); err != nil && !errors.Is(err, netco.ErrShutdown) ||
		none.Len() != 0 {
		t.Errorf("told before it began: %v\n%s", err, none.String())
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range [][3]int{{0, 1, 1}, {1, -1, 1}, {1, 1, -1}} {
		if err := run(context.Background(), new(strings.Builder), c[0], c[1],
			time.Duration(c[2])); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}
