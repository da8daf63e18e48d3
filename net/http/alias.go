//lint:file-ignore SA1019 the names are net/http's, the deprecated among them

package http

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"
)

// Types of net/http, see there.
type (
	CloseNotifier         = http.CloseNotifier
	ConnState             = http.ConnState
	Cookie                = http.Cookie
	CookieJar             = http.CookieJar
	CrossOriginProtection = http.CrossOriginProtection
	Dir                   = http.Dir
	File                  = http.File
	FileSystem            = http.FileSystem
	Flusher               = http.Flusher
	HTTP2Config           = http.HTTP2Config
	Handler               = http.Handler
	HandlerFunc           = http.HandlerFunc
	Header                = http.Header
	Hijacker              = http.Hijacker
	MaxBytesError         = http.MaxBytesError
	ProtocolError         = http.ProtocolError
	Protocols             = http.Protocols
	PushOptions           = http.PushOptions
	Pusher                = http.Pusher
	Request               = http.Request
	Response              = http.Response
	ResponseController    = http.ResponseController
	ResponseWriter        = http.ResponseWriter
	RoundTripper          = http.RoundTripper
	SameSite              = http.SameSite
	ServeMux              = http.ServeMux
)

// Methods.
const (
	MethodGet     = http.MethodGet
	MethodHead    = http.MethodHead
	MethodPost    = http.MethodPost
	MethodPut     = http.MethodPut
	MethodPatch   = http.MethodPatch
	MethodDelete  = http.MethodDelete
	MethodConnect = http.MethodConnect
	MethodOptions = http.MethodOptions
	MethodTrace   = http.MethodTrace
)

// Status codes.
const (
	StatusContinue                      = http.StatusContinue
	StatusSwitchingProtocols            = http.StatusSwitchingProtocols
	StatusProcessing                    = http.StatusProcessing
	StatusEarlyHints                    = http.StatusEarlyHints
	StatusOK                            = http.StatusOK
	StatusCreated                       = http.StatusCreated
	StatusAccepted                      = http.StatusAccepted
	StatusNonAuthoritativeInfo          = http.StatusNonAuthoritativeInfo
	StatusNoContent                     = http.StatusNoContent
	StatusResetContent                  = http.StatusResetContent
	StatusPartialContent                = http.StatusPartialContent
	StatusMultiStatus                   = http.StatusMultiStatus
	StatusAlreadyReported               = http.StatusAlreadyReported
	StatusIMUsed                        = http.StatusIMUsed
	StatusMultipleChoices               = http.StatusMultipleChoices
	StatusMovedPermanently              = http.StatusMovedPermanently
	StatusFound                         = http.StatusFound
	StatusSeeOther                      = http.StatusSeeOther
	StatusNotModified                   = http.StatusNotModified
	StatusUseProxy                      = http.StatusUseProxy
	StatusTemporaryRedirect             = http.StatusTemporaryRedirect
	StatusPermanentRedirect             = http.StatusPermanentRedirect
	StatusBadRequest                    = http.StatusBadRequest
	StatusUnauthorized                  = http.StatusUnauthorized
	StatusPaymentRequired               = http.StatusPaymentRequired
	StatusForbidden                     = http.StatusForbidden
	StatusNotFound                      = http.StatusNotFound
	StatusMethodNotAllowed              = http.StatusMethodNotAllowed
	StatusNotAcceptable                 = http.StatusNotAcceptable
	StatusProxyAuthRequired             = http.StatusProxyAuthRequired
	StatusRequestTimeout                = http.StatusRequestTimeout
	StatusConflict                      = http.StatusConflict
	StatusGone                          = http.StatusGone
	StatusLengthRequired                = http.StatusLengthRequired
	StatusPreconditionFailed            = http.StatusPreconditionFailed
	StatusRequestEntityTooLarge         = http.StatusRequestEntityTooLarge
	StatusRequestURITooLong             = http.StatusRequestURITooLong
	StatusUnsupportedMediaType          = http.StatusUnsupportedMediaType
	StatusRequestedRangeNotSatisfiable  = http.StatusRequestedRangeNotSatisfiable
	StatusExpectationFailed             = http.StatusExpectationFailed
	StatusTeapot                        = http.StatusTeapot
	StatusMisdirectedRequest            = http.StatusMisdirectedRequest
	StatusUnprocessableEntity           = http.StatusUnprocessableEntity
	StatusLocked                        = http.StatusLocked
	StatusFailedDependency              = http.StatusFailedDependency
	StatusTooEarly                      = http.StatusTooEarly
	StatusUpgradeRequired               = http.StatusUpgradeRequired
	StatusPreconditionRequired          = http.StatusPreconditionRequired
	StatusTooManyRequests               = http.StatusTooManyRequests
	StatusRequestHeaderFieldsTooLarge   = http.StatusRequestHeaderFieldsTooLarge
	StatusUnavailableForLegalReasons    = http.StatusUnavailableForLegalReasons
	StatusInternalServerError           = http.StatusInternalServerError
	StatusNotImplemented                = http.StatusNotImplemented
	StatusBadGateway                    = http.StatusBadGateway
	StatusServiceUnavailable            = http.StatusServiceUnavailable
	StatusGatewayTimeout                = http.StatusGatewayTimeout
	StatusHTTPVersionNotSupported       = http.StatusHTTPVersionNotSupported
	StatusVariantAlsoNegotiates         = http.StatusVariantAlsoNegotiates
	StatusInsufficientStorage           = http.StatusInsufficientStorage
	StatusLoopDetected                  = http.StatusLoopDetected
	StatusNotExtended                   = http.StatusNotExtended
	StatusNetworkAuthenticationRequired = http.StatusNetworkAuthenticationRequired
)

// Limits, formats and prefixes.
const (
	DefaultMaxHeaderBytes      = http.DefaultMaxHeaderBytes
	DefaultMaxHeaderValueCount = 500
	DefaultMaxIdleConnsPerHost = http.DefaultMaxIdleConnsPerHost
	TimeFormat                 = http.TimeFormat
	TrailerPrefix              = http.TrailerPrefix
)

// States of a connection.
const (
	StateNew      = http.StateNew
	StateActive   = http.StateActive
	StateIdle     = http.StateIdle
	StateHijacked = http.StateHijacked
	StateClosed   = http.StateClosed
)

// Modes of Cookie.SameSite.
const (
	SameSiteDefaultMode = http.SameSiteDefaultMode
	SameSiteLaxMode     = http.SameSiteLaxMode
	SameSiteStrictMode  = http.SameSiteStrictMode
	SameSiteNoneMode    = http.SameSiteNoneMode
)

// The standard's errors.
var (
	ErrAbortHandler         = http.ErrAbortHandler
	ErrBodyNotAllowed       = http.ErrBodyNotAllowed
	ErrBodyReadAfterClose   = http.ErrBodyReadAfterClose
	ErrContentLength        = http.ErrContentLength
	ErrHandlerTimeout       = http.ErrHandlerTimeout
	ErrHeaderTooLong        = http.ErrHeaderTooLong
	ErrHijacked             = http.ErrHijacked
	ErrLineTooLong          = http.ErrLineTooLong
	ErrMissingBoundary      = http.ErrMissingBoundary
	ErrMissingContentLength = http.ErrMissingContentLength
	ErrMissingFile          = http.ErrMissingFile
	ErrNoCookie             = http.ErrNoCookie
	ErrNoLocation           = http.ErrNoLocation
	ErrNotMultipart         = http.ErrNotMultipart
	ErrNotSupported         = http.ErrNotSupported
	ErrSchemeMismatch       = http.ErrSchemeMismatch
	ErrServerClosed         = http.ErrServerClosed
	ErrShortBody            = http.ErrShortBody
	ErrSkipAltProtocol      = http.ErrSkipAltProtocol
	ErrUnexpectedTrailer    = http.ErrUnexpectedTrailer
	ErrUseLastResponse      = http.ErrUseLastResponse
	ErrWriteAfterFlush      = http.ErrWriteAfterFlush
)

// Keys of a request's context: the value of ServerContextKey is this package's
// *Server.
var (
	ServerContextKey    = http.ServerContextKey
	LocalAddrContextKey = http.LocalAddrContextKey
)

// DefaultServeMux is the standard's, so what packages register there is served.
var DefaultServeMux = http.DefaultServeMux

// NoBody is a body without bytes.
var NoBody = http.NoBody

// Functions of net/http, see there.

func AllowQuerySemicolons(h Handler) Handler         { return http.AllowQuerySemicolons(h) }
func CanonicalHeaderKey(s string) string             { return http.CanonicalHeaderKey(s) }
func DetectContentType(data []byte) string           { return http.DetectContentType(data) }
func Error(w ResponseWriter, error string, code int) { http.Error(w, error, code) }
func FS(fsys fs.FS) FileSystem                       { return http.FS(fsys) }
func FileServer(root FileSystem) Handler             { return http.FileServer(root) }
func FileServerFS(root fs.FS) Handler                { return http.FileServerFS(root) }
func MaxBytesHandler(h Handler, n int64) Handler     { return http.MaxBytesHandler(h, n) }
func MaxBytesReader(w ResponseWriter, r io.ReadCloser, n int64) io.ReadCloser {
	return http.MaxBytesReader(w, r, n)
}
func NewCrossOriginProtection() *CrossOriginProtection { return http.NewCrossOriginProtection() }
func NewFileTransport(fs FileSystem) RoundTripper      { return http.NewFileTransport(fs) }
func NewFileTransportFS(fsys fs.FS) RoundTripper       { return http.NewFileTransportFS(fsys) }
func NewRequest(method, url string, body io.Reader) (*Request, error) {
	return http.NewRequest(method, url, body)
}
func NewRequestWithContext(ctx context.Context, method, url string, body io.Reader) (*Request,
	error) {
	return http.NewRequestWithContext(ctx, method, url, body)
}
func NewResponseController(rw ResponseWriter) *ResponseController {
	return http.NewResponseController(rw)
}
func NewServeMux() *ServeMux                     { return http.NewServeMux() }
func NotFound(w ResponseWriter, r *Request)      { http.NotFound(w, r) }
func NotFoundHandler() Handler                   { return http.NotFoundHandler() }
func ParseCookie(line string) ([]*Cookie, error) { return http.ParseCookie(line) }
func ParseHTTPVersion(vers string) (major, minor int, ok bool) {
	return http.ParseHTTPVersion(vers)
}
func ParseSetCookie(line string) (*Cookie, error)    { return http.ParseSetCookie(line) }
func ParseTime(text string) (t time.Time, err error) { return http.ParseTime(text) }
func ProxyFromEnvironment(req *Request) (*url.URL, error) {
	return http.ProxyFromEnvironment(req)
}
func ProxyURL(fixedURL *url.URL) func(*Request) (*url.URL, error) { return http.ProxyURL(fixedURL) }
func ReadRequest(b *bufio.Reader) (*Request, error)               { return http.ReadRequest(b) }
func ReadResponse(r *bufio.Reader, req *Request) (*Response, error) {
	return http.ReadResponse(r, req)
}
func Redirect(w ResponseWriter, r *Request, url string, code int) {
	http.Redirect(w, r, url, code)
}
func RedirectHandler(url string, code int) Handler { return http.RedirectHandler(url, code) }
func ServeContent(w ResponseWriter, req *Request, name string, modtime time.Time,
	content io.ReadSeeker) {
	http.ServeContent(w, req, name, modtime, content)
}
func ServeFile(w ResponseWriter, r *Request, name string) { http.ServeFile(w, r, name) }
func ServeFileFS(w ResponseWriter, r *Request, fsys fs.FS, name string) {
	http.ServeFileFS(w, r, fsys, name)
}
func SetCookie(w ResponseWriter, cookie *Cookie)   { http.SetCookie(w, cookie) }
func StatusText(code int) string                   { return http.StatusText(code) }
func StripPrefix(prefix string, h Handler) Handler { return http.StripPrefix(prefix, h) }
func TimeoutHandler(h Handler, dt time.Duration, msg string) Handler {
	return http.TimeoutHandler(h, dt, msg)
}

// Handle registers a handler with DefaultServeMux.
func Handle(pattern string, handler Handler) { DefaultServeMux.Handle(pattern, handler) }

// HandleFunc registers a function with DefaultServeMux.
func HandleFunc(pattern string, handler func(ResponseWriter, *Request)) {
	DefaultServeMux.HandleFunc(pattern, handler)
}
