package introspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/introspect"
)

func Example() {
	netco.Start(netco.Options{})
	s, err := netco.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/netco/", introspect.New(s, introspect.Options{}))
	admin := httptest.NewServer(mux) // in a daemon: http.ListenAndServe("127.0.0.1:6060", mux)
	defer admin.Close()

	asleep := make(chan struct{})
	h, _ := netco.GoWith(netco.Spawn{Name: "sweeper", Fn: func() {
		close(asleep)
		netco.Sleep(time.Hour)
	}})
	<-asleep
	var list struct { // docs/PAGES.md has the fields
		Coroutines []struct {
			Name, State string
			WaitsFor    string `json:"waits_for"`
		}
	}
	for len(list.Coroutines) == 0 { // until it waits
		r, err := http.Get(admin.URL + "/debug/netco/coroutines.json?reason=sleep")
		if err != nil {
			fmt.Println(err)
			return
		}
		err = json.NewDecoder(r.Body).Decode(&list)
		r.Body.Close()
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, co := range list.Coroutines {
		fmt.Println(co.Name, "is", co.State, "for", co.WaitsFor)
	}
	h.Stop()
	fmt.Println(netco.Shutdown(context.Background()))
	// Output:
	// sweeper is waiting for a time
	// <nil>
}
