package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/sweep"
)

const sweepUsage = `URL [flags] [flags of load]

Measures a closed loop for the capacity, then open loops at 10 %, 20 %, ... of it
until latency turns up: the p99 is more than -knee times the lowest of all lower
rates, less than 98 % is answered, or more than 1 % fails.

  netco-bench sweep http://127.0.0.1:8080/ -c 64 -d 5s -json out.json

All flags of load but -rate are those of each measurement.`

type sweepFlags struct {
	knee  float64
	halve int
	json  string
	quiet bool

	target string
	load   []string
}

func parseSweep(args []string, stdout io.Writer) (*sweepFlags, error) {
	s := &sweepFlags{}
	fs := flag.NewFlagSet("sweep", flag.ContinueOnError)
	fs.Float64Var(&s.knee, "knee", sweep.KneeFactor, "how many `times` the lowest p99 is past "+
		"the knee")
	fs.IntVar(&s.halve, "halve", 2, "how often to halve the gap around the knee")
	fs.StringVar(&s.json, "json", "", "write all steps to `file`")
	fs.BoolVar(&s.quiet, "q", false, "no line for each step")
	load, targets, err := parseWithLoad(fs, sweepUsage, args, stdout)
	if err != nil {
		return nil, err
	}
	switch {
	case len(targets) != 1:
		return nil, usagef("one target needed: sweep URL")
	case s.knee <= 1:
		return nil, usagef("-knee must be more than 1")
	case s.halve < 0:
		return nil, usagef("-halve must not be negative")
	}
	s.target, s.load = targets[0], load
	return s, refuseFlags(load, "sweep sets the rates itself, and writes by -json",
		"rate", "ramp", "csv", "o")
}

func runSweep(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return sweepBy(ctx, loadOn(nil), args, stdout, stderr)
}

func sweepBy(ctx context.Context, load loader, args []string, stdout, stderr io.Writer) error {
	f, err := parseSweep(args, stdout)
	if err != nil {
		return err
	}
	if err := canWrite(f.json); err != nil {
		return err
	}
	at := func(ctx context.Context, rate float64) (*result.Result, error) {
		args := slices.Concat(f.load, []string{f.target})
		if rate > 0 {
			args = slices.Concat([]string{"-rate", strconv.FormatFloat(rate, 'f', 0, 64)}, args)
		}
		return load(ctx, args)
	}
	done := func(rate float64, r *result.Result, past string) {
		switch {
		case f.quiet:
		case rate == 0:
			fmt.Fprintf(stderr, "closed loop: %s requests/s\n", figure.Rate(r.RequestsPerSecond()))
		default:
			fmt.Fprintf(stderr, "%s requests/s intended: %s answered, p99 %s %s\n",
				figure.Rate(rate),
				figure.Rate(r.RequestsPerSecond()), figure.Latency(float64(r.Response.At(99))),
				past)
		}
	}
	s, failure := sweep.Run(ctx, f.target, at, sweep.Options{Factor: f.knee, Halve: f.halve,
		Done: done})
	if len(s.Steps) == 0 {
		return failure
	}
	s.Print(stdout)
	if err := writeJSON(f.json, stdout, s); err != nil {
		return err
	}
	return failure
}
