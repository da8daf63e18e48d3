// Package defaults has a DefaultTransport that parks.
package defaults

import (
	"net/http"

	"github.com/netco-go/netco"
	nchttp "github.com/netco-go/netco/net/http"
)

const url = "http://localhost/"

func init() { http.DefaultTransport = &nchttp.Transport{} }

type server struct{ client http.Client }

func (s *server) start() error {
	_, err := netco.Go(func() {
		http.Get(url)
		http.DefaultClient.Get(url)
		s.client.Get(url)
		(&http.Client{Transport: nil}).Get(url)
		http.ListenAndServe(":80", nil) // want `net/http.ListenAndServe in a coroutine`
	})
	return err
}
