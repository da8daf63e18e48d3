package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	"github.com/netco-go/netco/metrics"
)

// scrapeEvery is how often the generator's process fetches the metrics of a
// server that offers them.
const scrapeEvery = time.Second

// serveNetcoWatched is serveNetco as it runs in production: watchdog on,
// metrics served.
func serveNetcoWatched(cfg serveConfig) (child.Hello, error) {
	hello, err := netcoOn(unchanged, echoNetco)(cfg)
	if err != nil {
		return hello, err
	}
	s, err := netco.Default()
	if err != nil {
		return hello, err
	}
	reg := prometheus.NewRegistry()
	if err := metrics.Register(reg, s); err != nil {
		return hello, err
	}
	ln, err := listenNet(cfg)
	if err != nil {
		return hello, err
	}
	go func() {
		fatal("metrics", http.Serve(ln, promhttp.HandlerFor(reg, promhttp.HandlerOpts{})))
	}()
	hello.Metrics = "http://" + ln.Addr().String() + "/metrics"
	return hello, nil
}

// scrape fetches url every second until ctx ends, if it is not "".
func scrape(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		if err := scrapeOnce(ctx, client, url); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("scrape: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func scrapeOnce(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r, err := client.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || n == 0) {
		err = fmt.Errorf("%s, %d bytes", r.Status, n)
	}
	return err
}
