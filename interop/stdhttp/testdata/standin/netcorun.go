// Package netcorun runs what a test is made of, in coroutines or goroutines.
package netcorun

import (
	"os"
	"reflect"
	"strconv"

	"github.com/netco-go/netco"
)

var coroutines = os.Getenv("NETCO_STDHTTP_COROUTINES") != ""

func init() {
	n, err := strconv.Atoi(os.Getenv("NETCO_STDHTTP_PROCESSORS"))
	if err == nil {
		err = netco.Start(netco.Options{Processors: n, Quiet: true})
	}
	if err != nil {
		panic(err)
	}
}

// Start is what a go statement has become.
func Start(f any, args ...any) {
	values := make([]reflect.Value, len(args))
	for i, arg := range args {
		if values[i] = reflect.ValueOf(arg); arg == nil {
			values[i] = reflect.Zero(reflect.TypeOf(f).In(i))
		}
	}
	call := func() { reflect.ValueOf(f).Call(values) }
	if coroutines {
		if _, err := netco.Go(call); err == nil { // refused in a bubble of testing/synctest
			return
		}
	}
	go call()
}

// Body runs the body of a test, or of what a test calls.
func Body(body func()) {
	if !coroutines || netco.Self().ID() != 0 {
		body()
		return
	}
	done := make(chan bool)
	_, err := netco.Go(func() {
		defer close(done) // FailNow ends the coroutine
		body()
	})
	if err != nil {
		body()
		return
	}
	<-done
}
