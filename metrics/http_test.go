package metrics

import (
	stdhttp "net/http"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/net/http"
	"github.com/netco-go/netco/scheduler"
)

// TestHTTP: requests are counted by their status, those under way too, and how
// long they took.
func TestHTTP(t *testing.T) {
	s := started(t, scheduler.Options{Processors: 1})
	r := registered(t, s)
	before := gather(t, r)
	leave := make(chan bool)
	server := &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			<-leave
			w.WriteHeader(http.StatusTeapot)
		})}
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		server.Serve(l)
	}}))
	defer server.Close()
	client := &stdhttp.Client{Transport: &stdhttp.Transport{DisableKeepAlives: true}}
	go client.Get("http://" + l.Addr().String())
	change := func(key string) float64 { return gather(t, r).of(key) - before.of(key) }
	eventually(t, "a request in flight", func() bool {
		return change("netco_http_requests_in_flight{}") == 1
	})
	leave <- true
	eventually(t, "it is counted", func() bool {
		return change("netco_http_requests_in_flight{}") == 0 &&
			change("netco_http_requests_total{code=4xx}") == 1 &&
			change("netco_http_request_duration_seconds_count{}") == 1
	})
}
