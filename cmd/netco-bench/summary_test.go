package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		in := slices.Clone(c.in)
		if got := median(in); got != c.want || !slices.Equal(in, c.in) {
			t.Errorf("median(%v) = %v, want %v; argument now %v", c.in, got, c.want, in)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestTurnOrder(t *testing.T) {
	servers := []string{"net", "netco"}
	var got []string
	for round := range 4 {
		got = append(got, turnOrder(servers, round)...)
	}
	if want := strings.Fields("net netco netco net net netco netco net"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// The ratio of the medians and the median of the ratios differ when the machine
// drifts; the table shows both.
func TestPrintEcho(t *testing.T) {
	cfg := &echoConfig{Servers: []string{"netco", "net"}, Size: 64, Pipeline: 1, Rounds: 3, Duration: time.Second}
	var rounds []echoRound
	for pair, rates := range [][2]float64{{100, 150}, {300, 330}, {200, 400}} {
		rounds = append(rounds,
			echoRound{Server: "net", Pair: pair, Rate: rates[0], P50Us: 10, ClientBusy: 0.5, GOMAXPROCS: 2},
			echoRound{Server: "netco", Pair: pair, Rate: rates[1], P50Us: 5, ClientBusy: 0.99, Backend: "asm"})
	}
	var out bytes.Buffer
	printEcho(&out, cfg, 1, rounds)
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

func hasLine(text string, fields []string) bool {
	for line := range strings.Lines(text) {
		got := strings.Fields(line)
		if len(got) >= len(fields) && slices.Equal(got[:len(fields)], fields) {
			return true
		}
	}
	return false
}
