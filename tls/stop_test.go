package tls_test

import (
	"errors"
	"io"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/tls"
)

// TestReadAfterStop: a coroutine that is stopped in a Read leaves the
// connection as it was, for others.
func TestReadAfterStop(t *testing.T) {
	testrun.Start(t, 2)
	sc, cc := configs()
	a, b := pair(t)
	server, client := tls.Server(a, sc), tls.Client(b, cc)
	go server.Handshake()
	testenv.OK(t, client.Handshake())
	ended := make(chan error, 1)
	k := testrun.First.Go(func() {
		_, err := client.Read(make([]byte, 1))
		ended <- err
	})
	k.UntilParked(t, coroutine.ReasonRead)
	k.Co.Handle().Stop()
	if err := testenv.Await(t, ended, "the Read"); !errors.Is(err, netco.ErrShutdown) {
		t.Errorf("the Read that was stopped: %v", err)
	}
	go server.Write([]byte("later"))
	got := make([]byte, 5)
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "later" {
		t.Errorf("the next Read: %q, %v", got, err)
	}
}
