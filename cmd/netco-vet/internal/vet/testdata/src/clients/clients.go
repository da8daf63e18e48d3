// Package clients has http.Clients that park, and others.
package clients

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/netco-go/netco"
	nchttp "github.com/netco-go/netco/net/http"
)

const url = "http://localhost/"

var (
	shared                      = newClient(time.Second)
	transport http.RoundTripper = &nchttp.Transport{}
)

func newClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: transport}
}

func literals() { // want literals:"waits"
	client := &http.Client{Transport: &nchttp.Transport{}}
	client.Get(url)
	(&http.Client{Transport: new(nchttp.Transport)}).Get(url)
	newClient(time.Minute).Get(url)
}

func assigned() { // want assigned:"waits"
	var client http.Client
	client.Transport = &nchttp.Transport{}
	client.Head(url)
	later, err := checked(url)
	if err == nil {
		later.PostForm(url, nil)
	}
}

func checked(url string) (*http.Client, error) {
	if url == "" {
		return nil, errors.New("no URL")
	}
	client := new(http.Client)
	client.Transport = &nchttp.Transport{}
	return client, nil
}

// authorized wraps another RoundTripper.
type authorized struct{ base http.RoundTripper }

func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) { // want RoundTrip:"waits"
	return a.base.RoundTrip(req)
}

type api struct {
	*http.Client
	other http.Client
}

func newAPI() *api {
	a := &api{Client: shared}
	a.other.Transport = authorized{transport}
	return a
}

func (a *api) calls(req *http.Request) { // want calls:"waits"
	a.Do(req)
	a.Client.Do(req)
	a.other.Do(req)
	given(shared, req)
	go a.Do(req)
}

func given(client *http.Client, req *http.Request) { client.Do(req) } // want given:"waits"

var mu sync.Mutex

func locked() { // want locked:"lock"
	mu.Lock()
	shared.Get(url) // want `sync.Mutex mu held across Client.Get in a coroutine`
	mu.Unlock()
}

func others(given *http.Client, req *http.Request) { // want others:"http"
	given.Do(req)
	http.Serve(nil, nil) // want `net/http.Serve in a coroutine: .*; import netco/net/http`
}

func start(client *http.Client, req *http.Request) error {
	_, err := netco.Go(func() {
		literals()
		assigned()
		newAPI().calls(req)
		locked()
		others(client, req)
	})
	return err
}
