// Package httpclient has the names that the tests need.
package httpclient

import "net/http"

type Transport struct{ Base http.RoundTripper }

func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) { return nil, nil }
