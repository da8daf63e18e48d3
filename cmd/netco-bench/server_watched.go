package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/metrics"
)

// scrapeEvery is how often the server "netco-watched" answers a scrape.
const scrapeEvery = time.Second

// serveNetcoWatched is the server "netco" as it runs in production: watchdog
// on, metrics scraped. The scraper is in the process, and has no socket.
func serveNetcoWatched(cfg serveConfig) (address string, err error) {
	if address, err = netcoOn(unchanged, echoNetco)(cfg); err != nil {
		return "", err
	}
	s, err := netco.Default()
	if err != nil {
		return "", err
	}
	reg := prometheus.NewRegistry()
	if err := metrics.Register(reg, s); err != nil {
		return "", err
	}
	h := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	go func() {
		for {
			fatal("scrape", scrapeOnce(h))
			time.Sleep(scrapeEvery)
		}
	}()
	return address, nil
}

// scrapeOnce wants metrics of h.
func scrapeOnce(h http.Handler) error {
	w := &scraped{header: http.Header{}, status: http.StatusOK}
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err == nil {
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK || w.bytes == 0 {
			err = errors.New("no metrics")
		}
	}
	return err
}

// scraped drops an answer.
type scraped struct {
	header        http.Header
	status, bytes int
}

func (s *scraped) Header() http.Header    { return s.header }
func (s *scraped) WriteHeader(status int) { s.status = status }
func (s *scraped) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}
