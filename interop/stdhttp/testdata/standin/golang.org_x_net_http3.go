// Package http3 stands for golang.org/x/net/http3.
package http3
