package logging_test

import (
	"context"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/logging"
)

func Example() {
	level := zap.NewAtomicLevelAt(zap.InfoLevel) // an http.Handler, too
	log, err := logging.New(level)
	if err != nil {
		panic(err)
	}
	log.Debug("not written") // a line that is goes to stderr
	level.SetLevel(zap.DebugLevel)
	fmt.Println(log.Level())
	// Output: debug
}

func ExampleHere() {
	log := logging.Here(zap.NewExample()) // to stdout
	netco.Run(func() {
		if _, err := netco.GoWith(netco.Spawn{Name: "teller", Fn: func() {
			// And Write: with processor, coroutine and name.
			log.Named("bank").Check(zapcore.InfoLevel, "paid")
		}}); err != nil {
			fmt.Println(err)
		}
	})
	netco.Shutdown(context.Background())
	log.Info("closed", zap.Int("paid", 1))
	// Output: {"level":"info","msg":"closed","paid":1}
}
