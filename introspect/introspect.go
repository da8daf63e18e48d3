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
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// Options allow the pages to change something.
type Options struct {
	// AllowStop lets a POST to "stop" end a coroutine, as Handle.Stop does.
	AllowStop bool
	// Hosts are further names under which the pages are reached: see CheckHost.
	Hosts []string
}

// New returns the pages about s, which may not have started yet. Mount them at
// any prefix that ends in a slash, stripped or not, and serve them by package
// net/http on ordinary goroutines: in a coroutine the handler refuses requests,
// because it blocks.
func New(s *scheduler.Scheduler, o Options) http.Handler {
	httpinfo.Count()
	return CheckHost(handlerOf(sourceOf(s), o), o.Hosts...)
}

type handler struct {
	src *source // constant
	opt Options // constant

	sites      sync.Map // of site, by program counter
	coroutines *walker[seen]
	sockets    *walker[sockinfo.Info]
	guard      *http.CrossOriginProtection
}

func handlerOf(src *source, o Options) *handler {
	return &handler{src: src, opt: o, guard: http.NewCrossOriginProtection(),
		coroutines: newWalker(src.coroutines), sockets: newWalker(src.sockets)}
}

// requestLimit bounds a request, including its wait for the walks of other
// requests.
const requestLimit = 4 * walkLimit

// failure is an error with an HTTP status.
type failure struct {
	status int
	error
}

var (
	errForbidden   = failure{403, errors.New("not allowed: see introspect.Options")}
	errNoPage      = failure{404, errors.New("no such page")}
	errNoCoroutine = failure{404, errors.New("no such coroutine: it has ended, or never was here")}
	errMethod      = failure{405, errors.New("method not allowed")}
	errCoroutine   = failure{503, errors.New("introspect waits: serve it on ordinary goroutines")}
)

// pages gather the data of the pages by their names.
var pages = map[string]func(*handler, context.Context, *query) (any, error){
	"overview":   (*handler).overview,
	"coroutines": (*handler).listCoroutines,
	"coroutine":  (*handler).coroutine,
	"sockets":    (*handler).listSockets,
	"requests":   (*handler).requests,
	"stalls":     (*handler).listStalls,
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	q := parse(r)
	// Relative links need a path that ends in a slash.
	if path, _, _ := strings.Cut(r.RequestURI, "?"); r.URL.Path == "" &&
		!strings.HasSuffix(path, "/") {
		redirect(w, http.StatusMovedPermanently, path[strings.LastIndexByte(path, '/')+1:]+"/")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
	defer cancel()
	if err := h.serve(w, r.WithContext(ctx), q); err != nil {
		h.fail(w, q, err)
	}
}

// serve answers the request, or returns an error before it has written
// anything.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, q *query) error {
	gets := r.Method == http.MethodGet || r.Method == http.MethodHead
	gather := pages[q.Page]
	switch {
	case processor.Current() != nil || coroutine.RunningID() != 0:
		return errCoroutine
	case q.Page == "stop":
		return h.stop(w, r)
	case !gets:
		w.Header().Set("Allow", "GET, HEAD")
		return errMethod
	case gather == nil:
		return errNoPage
	case q.err != nil:
		return q.err
	}
	data, err := gather(h, r.Context(), q)
	if err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, q, data)
}

// stop ends a coroutine, by Handle.Stop, if the request comes from one of these
// pages or from no web page at all.
func (h *handler) stop(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return errMethod
	}
	if err := h.guard.Check(r); err != nil {
		return errors.Join(errForbidden, err)
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if err := r.ParseForm(); err != nil {
		return failure{400, err}
	}
	if !h.opt.AllowStop {
		return errForbidden
	}
	q := &query{values: r.PostForm}
	id := q.id()
	if q.err != nil {
		return q.err
	}
	c, err := h.find(r.Context(), id)
	if err != nil {
		return err
	}
	handle := c.Coroutine.Handle()
	if handle.ID() != id {
		return errNoCoroutine
	}
	handle.Stop()
	h.src.logger().Warn("coroutine stopped by hand", zap.Uint64("coroutine", id),
		zap.String("name", cut(c.Name, maxText)), zap.String("by", r.RemoteAddr))
	redirect(w, http.StatusSeeOther, "coroutines")
	return nil
}

func redirect(w http.ResponseWriter, code int, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(code)
}

// CheckHost returns a handler that calls h for requests whose Host is
// localhost, a numeric address, one of hosts, or missing. Other requests get
// 403: a foreign site whose name resolves to this server's address could make
// browsers send requests under that name, and read the answers. The pages have
// this check; other handlers of the same server, such as net/http/pprof, may
// need it.
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

// known reports whether a request's Host is a name of this server.
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

// secure sets the headers that make browsers restrict the pages. The referrer
// policy is same-origin because a form's request must name its origin.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// status returns the HTTP status of an answer that reports err.
func status(err error) int {
	var f failure
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with an error.
func (h *handler) fail(w http.ResponseWriter, q *query, err error) {
	code := status(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(walkLimit/time.Second)))
	}
	q.template = "failure"
	if h.answer(w, code, q, failureJSON{err.Error()}) != nil {
		http.Error(w, err.Error(), code)
	}
}

// answer writes data as a page or JSON, or returns an error before it has
// written anything.
func (h *handler) answer(w http.ResponseWriter, code int, q *query, data any) (err error) {
	var text []byte
	kind := "application/json"
	if q.json {
		text, err = json.MarshalIndent(data, "", "  ")
		text = append(text, '\n')
	} else {
		kind = "text/html"
		text, err = h.render(q, code, data)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	w.Write(text)
	return nil
}
