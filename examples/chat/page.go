package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// page is one file: there is nothing to fetch beside it.
//
//go:embed page.html
var page string

// policy lets in the script and the style of the page and nothing else, such as
// what a message might bring with it.
var policy = "default-src 'none'; script-src " + hashOf("script") + "; style-src " +
	hashOf("style") + "; connect-src 'self'; img-src data:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// hashOf is what a content security policy names the page's one such element
// by.
func hashOf(element string) string {
	_, text, _ := strings.Cut(page, "<"+element+">")
	text, _, found := strings.Cut(text, "</"+element+">")
	if !found {
		panic("chat: the page has no " + element)
	}
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// handler serves the page and the WebSocket that it opens.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		w.Write([]byte(page))
	})
	mux.HandleFunc("GET /ws", s.open)
	return mux
}
