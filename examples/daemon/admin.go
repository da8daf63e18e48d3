package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/netco-go/netco/introspect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// admin is what one looks at the daemon through. It is net/http on package net,
// so on goroutines: it answers also while every Processor stands, which is when
// it is needed most.
type admin struct {
	server   http.Server
	listener net.Listener
	log      *zap.Logger
}

func newAdmin(l net.Listener, h *health, r prometheus.Gatherer, level zap.AtomicLevel,
	hosts []string, log *zap.Logger) *admin {
	log.Info("admin", zap.Stringer("address", l.Addr()))
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		log.Warn("every client of the admin address can read and profile this process",
			zap.Stringer("address", a))
	}
	// Complaints of the packages that serve; their level is always this one.
	complaints, _ := zap.NewStdLogAt(log, zap.WarnLevel)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", page(h.alive))
	mux.HandleFunc("/readyz", page(h.ready))
	mux.Handle("/metrics",
		promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorLog: complaints, EnableOpenMetrics: true}))
	mux.Handle("/debug/netco/", introspect.New(h.sched, introspect.Options{Hosts: hosts}))
	// GET, or PUT of {"level":"debug"}, or of the form level=debug.
	mux.Handle("/debug/loglevel", level)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return &admin{
		server: http.Server{
			// All pages: one name is enough to read a profile.
			Handler:           introspect.CheckHost(mux, hosts...),
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       time.Minute,
			ErrorLog:          complaints,
		},
		listener: l,
		log:      log,
	}
}

func (a *admin) serve() {
	if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		a.log.Error("the admin server has ended", zap.Error(err))
	}
}

// end lets a scrape that is under way finish, and no more: it is called last,
// so that a drain can be watched.
func (a *admin) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		a.server.Close()
	}
}
