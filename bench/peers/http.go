package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/valyala/fasthttp"
)

const (
	plaintext = "Hello, World!"
	plainType = "text/plain; charset=utf-8"
	jsonType  = "application/json"
)

// message is what GET /json answers.
type message struct {
	Message string `json:"message"`
}

// encode is encoding/json for all peers, so that it is the servers that differ.
func encode() []byte {
	text, _ := json.Marshal(message{plaintext}) // a struct of strings has no errors
	return text
}

func handleNet(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/json" {
		w.Header().Set("Content-Type", jsonType)
		w.Write(encode())
		return
	}
	w.Header().Set("Content-Type", plainType)
	w.Write([]byte(plaintext))
}

func httpNet(address string) error {
	return http.ListenAndServe(address, http.HandlerFunc(handleNet))
}

// httpNetco is net/http on netco's listener; its goroutines are its own.
func httpNetco(address string) error {
	ln, err := listenNetco(address)
	if err != nil {
		return err
	}
	return http.Serve(ln, http.HandlerFunc(handleNet))
}

func handleFast(c *fasthttp.RequestCtx) {
	if string(c.Path()) == "/json" {
		c.SetContentType(jsonType)
		c.Write(encode())
		return
	}
	c.SetContentType(plainType)
	c.WriteString(plaintext)
}

func fastNet(address string) error { return fasthttp.ListenAndServe(address, handleFast) }

// fastNetco is fasthttp with a coroutine for each connection.
func fastNetco(address string) error {
	s := &fasthttp.Server{Handler: handleFast}
	return onNetco(address, func(c net.Conn) { s.ServeConn(c) })
}

// httpHertz is HTTP on netpoll.
func httpHertz(address string) error {
	hlog.SetLevel(hlog.LevelError)
	h := hertz.New(hertz.WithHostPorts(address), hertz.WithDisablePrintRoute(true))
	h.GET("/", func(_ context.Context, c *app.RequestContext) {
		c.Data(http.StatusOK, plainType, []byte(plaintext))
	})
	h.GET("/json", func(_ context.Context, c *app.RequestContext) {
		c.Data(http.StatusOK, jsonType, encode())
	})
	return h.Run()
}
