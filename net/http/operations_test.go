package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	stdhttp "net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/introspect"
	"github.com/netco-go/netco/metrics"
	"github.com/netco-go/netco/net/http"
)

// values returns what a scrape sees of metrics of one sample, or the sum of the
// samples.
func values(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, f := range testenv.Must(r.Gather()) {
		for _, m := range f.Metric {
			name := f.GetName()
			if f.GetType() == dto.MetricType_COUNTER && len(m.Label) == 1 {
				name += " " + m.Label[0].GetValue()
			}
			all[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

// TestOperations: the metrics count requests, and the live page lists those
// under way.
func TestOperations(t *testing.T) {
	testrun.Start(t, 2)
	scheduler := testenv.Must(netco.Default())
	r := prometheus.NewRegistry()
	testenv.OK(t, metrics.Register(r, scheduler))
	pages := introspect.New(scheduler, introspect.Options{})
	before := values(t, r)
	inside, leave := make(chan bool), make(chan bool)
	addr := serve(t, &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			r.Method, r.RequestURI = "changed", "changed"
			inside <- true
			<-leave
			w.WriteHeader(http.StatusTeapot)
		})})
	c := dial(t, addr)
	in := bufio.NewReader(c)
	testenv.Must(io.WriteString(c, "GET /<b>?q HTTP/1.1\r\nHost: a\r\n\r\n"))
	testenv.Await(t, inside, "the handler")
	const flight, code = "netco_http_requests_in_flight", "netco_http_requests_total 4xx"
	testenv.Equal(t, values(t, r)[flight], before[flight]+1)
	page := httptest.NewRecorder()
	pages.ServeHTTP(page, httptest.NewRequest("GET", "http://localhost/requests", nil))
	if got := page.Body.String(); !strings.Contains(got, "/&lt;b&gt;?q") ||
		!strings.Contains(got, c.LocalAddr().String()) {
		t.Errorf("the page: %s", got)
	}
	close(leave)
	testenv.Must(http.ReadResponse(in, nil))
	testenv.Until(t, "the request is counted", func() bool {
		now := values(t, r)
		return now[flight] == before[flight] && now[code] == before[code]+1 &&
			now["netco_http_request_duration_seconds"] ==
				before["netco_http_request_duration_seconds"]+1
	})
}

// TestMainServes: a signal ends a program whose main serves, and ErrServerClosed
// is no failure.
func TestMainServes(t *testing.T) {
	testenv.Gives(t, "404 Not Found", nil)(testenv.Output(children.Command(t, "serves")))
}

// children are what this test binary can be.
var children = testenv.Children{"serves": func() {
	os.Exit(netco.Main(func(context.Context) error {
		l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
		go func() {
			res := testenv.Must(stdhttp.Get("http://" + l.Addr().String()))
			fmt.Print(res.Status)
			testenv.MustOK(syscall.Kill(os.Getpid(), syscall.SIGTERM))
		}()
		return http.Serve(l, http.NotFoundHandler())
	}, netco.MainOptions{}))
}}
