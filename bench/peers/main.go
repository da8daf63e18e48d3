// Command peers is the servers that netco is measured beside, each as its users
// write it: one program, so that all are built alike.
//
//	peers WORKLOAD PEER ADDRESS
//
// The workloads:
//
//	echo    sends back what comes in, also pipelined
//	tls     the same over TLS, with a certificate made at the start
//	halves  tls, each connection read by one coroutine and written by another
//	http    GET / answers a line of text, GET /json a small object
//	fanout  sends back each message once 16 subscribers have had it
//
// bench/peers.sh runs them in alternating rounds, and bench/tls.sh halves.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// workloads are the peers by workload and name. Each serves at an address, and
// returns only with an error.
var workloads = map[string]map[string]func(address string) error{
	"echo": {
		"net": echoNet, "netco": echoNetco, "netco-server": echoNetcoServer, "netpoll": echoNetpoll,
	},
	"tls": {
		"net": tlsNet, "netco": tlsNetco, "netco-server": tlsNetcoServer,
	},
	"halves": {
		"net": halvesNet, "netco": halvesNetco, "netco-crypto-tls": halvesNetcoCrypto,
	},
	"http": {
		"nethttp": httpNet, "nethttp-netco": httpNetco, "fasthttp": fastNet,
		"fasthttp-netco": fastNetco, "hertz": httpHertz,
	},
	"fanout": {
		"net": fanoutNet, "netco": fanoutNetco,
	},
}

func main() {
	if len(os.Args) != 4 || workloads[os.Args[1]][os.Args[2]] == nil {
		usage()
		os.Exit(2)
	}
	if err := workloads[os.Args[1]][os.Args[2]](os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: peers WORKLOAD PEER ADDRESS")
	for _, w := range slices.Sorted(maps.Keys(workloads)) {
		fmt.Fprintf(os.Stderr, "  %-7s %s\n", w,
			strings.Join(slices.Sorted(maps.Keys(workloads[w])), ", "))
	}
}
