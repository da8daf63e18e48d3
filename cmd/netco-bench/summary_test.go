package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAlternate(t *testing.T) {
	var got []string
	_ = alternate(4, []string{"net", "netco"}, func(_ int, server string) error {
		got = append(got, server)
		return nil
	})
	if want := strings.Fields("net netco netco net net netco netco net"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// The ratio of the medians and the median of the ratios differ when the machine
// drifts; the table shows both.
func TestPrintEcho(t *testing.T) {
	cfg := &echoConfig{Servers: []string{"netco", "net"}, Rounds: 3,
		Duration: time.Second}
	var rounds []echoRound
	for pair, rates := range [][2]float64{{100, 150}, {300, 330}, {200, 400}} {
		rounds = append(rounds,
			echoRound{Server: "net", Pair: pair, Rate: rates[0], P50Us: 10, ClientBusy: 0.5,
				GOMAXPROCS: 2},
			echoRound{Server: "netco", Pair: pair, Rate: rates[1], P50Us: 5, ClientBusy: 0.99,
				Backend: "asm"})
	}
	var out bytes.Buffer
	printEcho(&out, cfg, echoLoad{1, traffic{64, 1}, 0}, rounds)
	for _, want := range [][]string{
		{"1", "connection,", "64", "B,"},
		{"net", "200", "10.0"},
		{"netco", "(asm)", "330", "5.0"},
		{"netco/net", "1.65", "0.50"},
		{"median", "of", "pairs", "1.50", "0.50"},
		{"netco", "kept", "the", "generator", "busy"},
	} {
		if !hasLine(out.String(), want) {
			t.Errorf("no line begins %v in\n%s", want, &out)
		}
	}
	// Ratios of zero by zero are no numbers.
	if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
		t.Errorf("not a number in\n%s", &out)
	}
}

func TestPrintOpenLoop(t *testing.T) {
	cfg := &echoConfig{Servers: []string{"net", "netco"}, Arrival: "uniform", Rounds: 3,
		Duration: time.Second, Quota: 0.2, Busy: 4}
	var rounds []echoRound
	for pair, busy := range []float64{0.85, 0.7, 0.9} {
		rounds = append(rounds,
			echoRound{Server: "net", Pair: pair, Rate: 10_000, P99Us: 100 + 10*busy, LateP99Us: 50,
				ClientBusy: 0.5, GOMAXPROCS: 2},
			echoRound{Server: "netco", Pair: pair, Rate: 9000, P99Us: 200, LateP99Us: 150,
				ClientBusy: busy, GOMAXPROCS: 2})
	}
	var out bytes.Buffer
	printEcho(&out, cfg, echoLoad{64, traffic{64, 1}, 10_000}, rounds)
	for _, want := range []string{
		"64 connections, 64 B, 10000 req/s intended (uniform),",
		"GOMAXPROCS 2, median of 3 rounds of 1s, server limited to 0.2 of a core, beside 4 busy " +
			"loops",
		"107.0–109.0",
		"netco: the generator was busy for 85 % of the time",
		"netco: the generator itself sent 1 in 100 requests 150 µs late or more",
		"netco answered 9000 of 10000 req/s",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for _, unwanted := range []string{"net: the generator", "net answered", "lower bound"} {
		if strings.Contains(out.String(), "  "+unwanted) {
			t.Errorf("%q in\n%s", unwanted, &out)
		}
	}
}

func hasLine(text string, fields []string) bool {
	for line := range strings.Lines(text) {
		got := strings.Fields(line)
		if len(got) >= len(fields) && slices.Equal(got[:len(fields)], fields) {
			return true
		}
	}
	return false
}
