// Package http is net/http for coroutines, name for name: every http.Handler
// runs in a coroutine.
//
//	import "net/http"                              // before
//	import "github.com/netco-go/netco/net/http"    // after
package http
