package http

import (
	"cmp"
	"io"
	stdhttp "net/http"
	"net/url"

	"github.com/netco-go/netco/internal/http2"
)

// Client has the fields of the standard's Client; its default Transport is this
// package's DefaultTransport. In a coroutine its calls park if its Transport's
// do.
//
// For a library that takes the standard's Client, convert a Client to that
// type, and set Transport to DefaultTransport: the standard's default is its
// own.
type Client stdhttp.Client

// DefaultClient is what Get, Head, Post and PostForm use.
var DefaultClient = &Client{}

// std returns the standard's Client with the same settings.
func (c *Client) std() *stdhttp.Client {
	std := stdhttp.Client(*c)
	std.Transport = cmp.Or(c.Transport, DefaultTransport)
	// Round trips of registered protocols may know only Request.Cancel, which
	// the standard sets for a Transport that it does not know.
	if t, own := std.Transport.(*Transport); own && c.Timeout > 0 && !t.registered.Load() {
		std.Transport = &http2.Transport{RoundTripper: t}
	}
	return &std
}

// Do sends a request and returns the response, as the standard's Client.Do.
// Parks.
func (c *Client) Do(req *stdhttp.Request) (*stdhttp.Response, error) { return c.std().Do(req) }

// Get sends a GET request. Parks.
func (c *Client) Get(url string) (*stdhttp.Response, error) { return c.std().Get(url) }

// Head sends a HEAD request. Parks.
func (c *Client) Head(url string) (*stdhttp.Response, error) { return c.std().Head(url) }

// Post sends a POST request with a body of a type. Parks.
func (c *Client) Post(url, contentType string, body io.Reader) (*stdhttp.Response, error) {
	return c.std().Post(url, contentType, body)
}

// PostForm posts the values of a form.
func (c *Client) PostForm(url string, data url.Values) (*stdhttp.Response, error) {
	return c.std().PostForm(url, data)
}

// CloseIdleConnections calls the Transport's method, if it has one.
func (c *Client) CloseIdleConnections() {
	std := stdhttp.Client{Transport: cmp.Or(c.Transport, DefaultTransport)}
	std.CloseIdleConnections()
}

// Get is DefaultClient.Get.
func Get(url string) (*stdhttp.Response, error) { return DefaultClient.Get(url) }

// Head is DefaultClient.Head.
func Head(url string) (*stdhttp.Response, error) { return DefaultClient.Head(url) }

// Post is DefaultClient.Post.
func Post(url, contentType string, body io.Reader) (*stdhttp.Response, error) {
	return DefaultClient.Post(url, contentType, body)
}

// PostForm is DefaultClient.PostForm.
func PostForm(url string, data url.Values) (*stdhttp.Response, error) {
	return DefaultClient.PostForm(url, data)
}
