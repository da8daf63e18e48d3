// Package plain has http.Clients of the standard library's.
package plain

import (
	"net/http"

	"github.com/netco-go/netco"
)

const url = "http://localhost/"

func calls(given *http.Client, req *http.Request) { // want calls:"http,http,http"
	http.Get(url)              // want `net/http.Get in a coroutine: .*; import netco/net/http, or use its Transport`
	http.DefaultClient.Do(req) // want `net/http.Client.Do in a coroutine`
	(&http.Client{}).Do(req)   // want `net/http.Client.Do in a coroutine`
	given.Do(req)              // want `net/http.Client.Do in a coroutine`
	http.Serve(nil, nil)       // want `net/http.Serve in a coroutine: .*; import netco/net/http`
}

func start(client *http.Client, req *http.Request) error {
	_, err := netco.Go(func() { calls(client, req) })
	return err
}
