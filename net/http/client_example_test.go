package http_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net/http"
)

func ExampleClient() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
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
