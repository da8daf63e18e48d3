package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/gen"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// thresholdError is a run that was fine but for a limit set by -max.
type thresholdError struct{ broken []result.Threshold }

func (e *thresholdError) Error() string {
	msg := "over the limit:"
	for _, t := range e.broken {
		msg += fmt.Sprintf(" %s is %s;", t.Limit, t.Value)
	}
	return msg[:len(msg)-1]
}

// runLoad is the command load.
func runLoad(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseLoad(args, stdout)
	if err != nil {
		return err
	}
	r, err := measureLoad(ctx, cfg, args, stderr)
	if r == nil {
		return err
	}
	if !cfg.quiet {
		printResult(stdout, r)
	}
	if werr := cfg.writeFiles(r, stdout); err == nil {
		err = werr
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		err = brokenThresholds(r)
	}
	if t := &r.Totals; err == nil && t.Requests > 0 && t.Errors.Status == t.Requests {
		err = fmt.Errorf("all answers were errors: %s", t.FirstError)
	}
	return err
}

// measureLoad makes one run of a checked command line. The result may come with
// an error: it is what was measured until then.
func measureLoad(ctx context.Context, cfg *loadConfig, args []string,
	stderr io.Writer) (*result.Result, error) {
	if err := checkNoFile(cfg.Connections + cfg.Idle); err != nil {
		return nil, err
	}
	if err := canWrite(cfg.outputs()...); err != nil {
		return nil, err
	}
	targets, err := gen.ParseTargets(cfg.urls...)
	if err != nil {
		return nil, err
	}
	cfg.Targets = targets
	var sampler *serverSampler
	if cfg.pid > 0 {
		if sampler, err = newServerSampler(cfg.pid); err != nil {
			return nil, err
		}
		cfg.Probe = sampler.probe
	}
	g, err := gen.New(&cfg.Config)
	if err != nil {
		return nil, usagef("%v", err)
	}
	stop := cfg.watch(g, sampler, stderr)
	r, err := g.Run(ctx)
	stop()
	if r == nil {
		return nil, err
	}
	r.Tool, r.Args, r.Server = moduleVersion(), args, sampler.result()
	for _, l := range cfg.limits {
		r.Thresholds = append(r.Thresholds, l.check(r))
	}
	return r, err
}

func brokenThresholds(r *result.Result) error {
	var e thresholdError
	for _, t := range r.Thresholds {
		if t.Broken {
			e.broken = append(e.broken, t)
		}
	}
	if len(e.broken) > 0 {
		return &e
	}
	return nil
}

// watch starts what accompanies a run: the live view and -pid. stop ends them.
func (lc *loadConfig) watch(g *gen.Gen, sampler *serverSampler, stderr io.Writer) (stop func()) {
	if lc.quiet {
		stderr = io.Discard
	}
	view := liveView{w: stderr}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(liveEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			sampler.sample()
			_, seconds := g.Live()
			view.show(seconds)
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// writeFiles writes what -json and its like ask for.
func (lc *loadConfig) writeFiles(r *result.Result, stdout io.Writer) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{lc.json, func(w io.Writer) error { return encode(w, r) }},
		{lc.csv, func(w io.Writer) error { return writeCSV(w, r) }},
	} {
		if f.name == "" {
			continue
		}
		if err := writeFile(f.name, stdout, f.write); err != nil {
			return err
		}
	}
	return nil
}
