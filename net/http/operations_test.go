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

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/introspect"
	"github.com/netco-go/netco/net/http"
)

// TestLivePage: the live page lists the requests under way, as they came.
func TestLivePage(t *testing.T) {
	needsHandoff(t)
	testrun.Start(t, 2)
	scheduler := testenv.Must(netco.Default())
	pages := introspect.New(scheduler, introspect.Options{})
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
	page := httptest.NewRecorder()
	pages.ServeHTTP(page, httptest.NewRequest("GET", "http://localhost/requests", nil))
	if got := page.Body.String(); !strings.Contains(got, "/&lt;b&gt;?q") ||
		!strings.Contains(got, c.LocalAddr().String()) {
		t.Errorf("the page: %s", got)
	}
	close(leave)
	testenv.Must(http.ReadResponse(in, nil))
}

// TestMainServes: a signal ends a program whose main serves, and
// ErrServerClosed is no failure.
func TestMainServes(t *testing.T) {
	testenv.Gives(t, "404 Not Found", nil)(testenv.Output(children.Command(t, "serves")))
}

// children are the programs that this test binary can be.
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
