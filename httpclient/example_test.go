package httpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/httpclient"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer server.Close()
	client := &http.Client{Transport: &httpclient.Transport{}}
	defer client.CloseIdleConnections()
	netco.Run(func() {
		resp, err := client.Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		fmt.Printf("%s %v\n", text, err)
	})
	netco.Shutdown(context.Background())
	// Output: hello <nil>
}
