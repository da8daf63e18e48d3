package socket_test

import (
	"sync"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
)

// TestCloseInOnce: both ends of a connection's life may close it by one
// sync.Once, or with one mutex held, also on one Processor: Close must not park
// for an operation of a coroutine whose next step is that Once.
func TestCloseInOnce(t *testing.T) {
	address := echoNet(t)
	start(t, 1)
	testrun.First.Do(t, func() {
		c, err := netco.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		var once sync.Once
		closeIt := func() { once.Do(func() { c.Close() }) }
		reader, err := netco.GoLocal(func() {
			c.Read(make([]byte, 1))
			closeIt()
		})
		if err != nil {
			t.Error(err)
			return
		}
		netco.Yield() // the reader parks
		closeIt()
		netco.Join(reader)
	})
}
