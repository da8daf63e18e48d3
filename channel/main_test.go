package channel_test

import (
	"context"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) {
	// Threads that Go has made it keeps: they are made before they are counted.
	netco.Start(netco.Options{Processors: 4})
	netco.Shutdown(context.Background())
	testenv.Main(m)
}

// long is more than any event takes that these tests wait for.
const long = time.Minute
