package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestHandoffLogged: a logger gets the first handoff of a place.
func TestHandoffLogged(t *testing.T) {
	if err := coroutine.CanLeave(); err != nil {
		t.Skip("no handoffs: ", err)
	}
	core, logs := observer.New(zap.WarnLevel)
	s := start(t, scheduler.Options{Processors: 1, Logger: zap.New(core)})
	block := make(chan int)
	wait := func() { <-block }
	for i := range 3 {
		testenv.Must(s.Go(wait))
		testenv.Until(t, "a handoff", func() bool {
			return slices.ContainsFunc(s.Handoffs(), func(h scheduler.Handoff) bool {
				return h.Cause == diagnose.CauseChannel && h.Count == uint64(i+1)
			})
		})
	}
	close(block)
	shutdown(t, s)
	lines := logs.FilterMessage("processor handed on").
		FilterField(zap.String("cause", diagnose.CauseChannel)).All()
	if len(lines) != 1 || !strings.HasPrefix(fmt.Sprint(lines[0].ContextMap()["instead"]),
		"netco's channels: channel.Make") {
		t.Errorf("%v", lines)
	}
}
