//go:build !netco_ready

package main

// serveNetco is nil in a build without netco; flag validation then refuses it.
var serveNetco echoServer
