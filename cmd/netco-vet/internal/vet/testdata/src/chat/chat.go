// Package main is a chat server with a goroutine for its rooms, as books have
// it, on coroutines.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net"
)

type client chan<- string

var (
	entering = make(chan client)
	leaving  = make(chan client)
	messages = make(chan string)
)

func broadcaster() { // want broadcaster:"chan,chan"
	clients := make(map[client]bool)
	for {
		select { // want `select in a coroutine`
		case msg := <-messages:
			for cli := range clients {
				cli <- msg // want `send to a Go channel`
			}
		case cli := <-entering:
			clients[cli] = true
		case cli, ok := <-leaving:
			if ok {
				delete(clients, cli)
				close(cli)
			}
		case <-time.After(time.Minute):
			return
		}
	}
}

func handleConn(conn net.Conn) { // want handleConn:"chan"
	ch := make(chan string, 2)
	if _, err := netco.Go(func() { clientWriter(conn, ch) }); err != nil {
		conn.Close()
		return
	}
	who := conn.RemoteAddr().String()
	ch <- "You are " + who
	messages <- who + " has arrived" // want `send to a Go channel`
	entering <- ch                   // want `send to a Go channel`
	input := bufio.NewScanner(conn)
	for input.Scan() {
		messages <- who + ": " + input.Text() // want `send to a Go channel`
	}
	leaving <- ch                 // want `send to a Go channel`
	messages <- who + " has left" // want `send to a Go channel`
	conn.Close()
}

func clientWriter(conn net.Conn, ch <-chan string) { // want clientWriter:"chan"
	for msg := range ch { // want `range over a Go channel`
		fmt.Fprintln(conn, msg)
	}
}

func main() { // want main:"chan"
	listener, err := net.Listen("tcp", "localhost:8000")
	if err != nil {
		panic(err)
	}
	signals := make(chan os.Signal, 1) // stays: it is another package's too
	signal.Notify(signals, os.Interrupt)
	netco.Run(func() {
		if _, err := netco.Go(broadcaster); err != nil {
			panic(err)
		}
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := netco.Go(func() { handleConn(conn) }); err != nil {
				conn.Close()
			}
		}
	})
	<-signals
}
