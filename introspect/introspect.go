package introspect

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// Options allow the pages more than to show. The zero value allows nothing.
type Options struct {
	// AllowStop lets a POST to "stop" end a coroutine, as Handle.Stop does;
	// each coroutine's page then has a button for it.
	AllowStop bool
	// AllowLogLevel, if set, lets "loglevel" show and change the level of a
	// logger: GET, and PUT of {"level":"debug"}.
	AllowLogLevel *zap.AtomicLevel
	// Hosts are names under which the pages are reached, beside localhost and
	// numeric addresses. Under other names they refuse, as CheckHost does: a
	// foreign site may have pointed a name of its own at this server's address.
	Hosts []string
}

// New returns the pages about s, to be mounted at any prefix that ends in a
// slash, stripped or not. It may be called before s is started.
//
// The handler is to be served by package net/http on ordinary goroutines; in a
// coroutine it refuses, since it waits. It is safe for concurrent use, holds
// nothing and runs nothing between requests.
func New(s *scheduler.Scheduler, o Options) http.Handler {
	httpinfo.Count()
	return CheckHost(handlerOf(of(s), o), o.Hosts...)
}

type handler struct {
	src *source // constant
	opt Options // constant

	sites      sites
	coroutines walker[seen]
	sockets    walker[sockinfo.Info]
	stacks     chan struct{} // holds an element for each stack that is being asked for
	guard      *http.CrossOriginProtection
}

func handlerOf(src *source, o Options) *handler {
	h := &handler{src: src, opt: o, stacks: make(chan struct{}, stackers),
		guard: http.NewCrossOriginProtection()}
	h.coroutines.each = src.coroutines
	h.sockets.each = src.sockets
	return h
}

// requestLimit is how long one request may take in all: it waits for a walk of
// other requests, the rest after that, and its own walk.
const requestLimit = 4 * walkLimit

// Errors with a status of their own.
var (
	errForbidden = errors.New("not allowed: see introspect.Options")
	errNoPage    = errors.New("no such page")
	errMethod    = errors.New("method not allowed")
	errCoroutine = errors.New("introspect must be served on ordinary goroutines, not in a " +
		"coroutine: it waits")
)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	q := parse(r)
	if processor.Current() != nil || coroutine.RunningID() != 0 {
		h.fail(w, r, q, errCoroutine)
		return
	}
	// Relative links need a path that ends in a slash.
	if path, _, _ := strings.Cut(r.RequestURI, "?"); r.URL.Path == "" &&
		!strings.HasSuffix(path, "/") {
		w.Header().Set("Location", path[strings.LastIndexByte(path, '/')+1:]+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
	defer cancel()
	if err := h.serve(w, r.WithContext(ctx), q); err != nil {
		h.fail(w, r, q, err)
	}
}

// serve answers, or returns an error before it has written anything.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, q *query) error {
	switch q.page {
	case "stop":
		return h.change(w, r, h.stop, http.MethodPost)
	case "loglevel":
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return h.change(w, r, h.setLevel, http.MethodPut, http.MethodPost)
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return errMethod
	}
	data, err := h.gather(r.Context(), q)
	if err != nil {
		return err
	}
	if q.json || q.page == "loglevel" {
		writeJSON(w, http.StatusOK, data)
		return nil
	}
	return h.render(w, http.StatusOK, q, data)
}

// gather returns the data of the page.
func (h *handler) gather(ctx context.Context, q *query) (data any, err error) {
	switch q.page {
	case "overview":
		return h.overview(ctx, q)
	case "coroutines":
		if q.text("group") != "" {
			return h.groupCoroutines(ctx, q)
		}
		return h.listCoroutines(ctx, q)
	case "coroutine":
		return h.oneCoroutine(ctx, q)
	case "sockets":
		return h.listSockets(ctx, q)
	case "timers":
		return h.timers(ctx, q)
	case "requests":
		return h.requests(ctx, q)
	case "stalls":
		return h.listStalls(ctx, q)
	case "loglevel":
		return h.level()
	}
	return nil, errNoPage
}

// change calls do, if the request comes from one of these pages or from no web
// page at all.
func (h *handler) change(w http.ResponseWriter, r *http.Request,
	do func(http.ResponseWriter, *http.Request) error, methods ...string) error {
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return errMethod
	}
	if err := h.guard.Check(r); err != nil {
		return errors.Join(errForbidden, err)
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if err := r.ParseForm(); err != nil {
			return badQuery{err}
		}
	}
	return do(w, r)
}

// CheckHost returns a handler that calls h for requests whose Host is
// localhost, a numeric address, one of hosts, or missing. Other requests get
// 403: a foreign site that has pointed a name of its own at this server's
// address can make browsers ask under that name, and read the answers. The
// pages have this check; CheckHost is for handlers beside them that have none,
// such as net/http/pprof and zap's level.
//
//	checked := introspect.CheckHost(http.DefaultServeMux)
//	http.ListenAndServe("127.0.0.1:6060", checked)
func CheckHost(h http.Handler, hosts ...string) http.Handler {
	hosts = slices.Clone(hosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "" || known(r.Host, hosts) {
			h.ServeHTTP(w, r)
			return
		}
		secure(w.Header())
		http.Error(w, "this server does not go by the name "+strconv.Quote(cut(r.Host, maxShown)),
			http.StatusForbidden)
	})
}

// known reports whether a request's Host is a name of this server, and not a
// name that a foreign site has pointed at it.
func known(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(hosts, func(n string) bool {
		return strings.EqualFold(n, host)
	})
}

// secure sets headers by which browsers restrict the pages. Requests of a
// page's own forms must name their origin, hence same-origin.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// status returns the status of an answer that reports err.
func status(err error) int {
	switch {
	case errors.As(err, new(badQuery)):
		return http.StatusBadRequest
	case errors.Is(err, errForbidden):
		return http.StatusForbidden
	case errors.Is(err, errNoPage), errors.Is(err, errNoCoroutine):
		return http.StatusNotFound
	case errors.Is(err, errMethod):
		return http.StatusMethodNotAllowed
	case errors.Is(err, errCrowded), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled), errors.Is(err, errCoroutine):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with an error.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, q *query, err error) {
	code := status(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(walkLimit/time.Second)))
	}
	failure := failureJSON{Error: err.Error()}
	if q.page == "coroutine" && errors.Is(err, errNoCoroutine) && !q.json &&
		h.render(w, code, q, h.ended(q)) == nil {
		return
	}
	if q.json || q.page == "loglevel" || r.Method == http.MethodPut ||
		h.render(w, code, q, failure) != nil {
		writeJSON(w, code, failure)
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // only a NaN cannot be encoded
		code, text = http.StatusInternalServerError,
			[]byte(`{"error":"a figure cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(code)
	w.Write(append(text, '\n'))
}
