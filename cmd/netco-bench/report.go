package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// environment is what a figure depends on beside the code.
type environment struct {
	result.Environment
	Date       time.Time `json:"date"`
	GOMAXPROCS int       `json:"gomaxprocs"` // of this process; the servers' stand with the rounds
	Version    string    `json:"version"`
	Command    []string  `json:"command"` // without the folder of the program
}

func newEnvironment(started time.Time) environment {
	return environment{
		Environment: result.ThisMachine(),
		Date:        started.UTC().Truncate(time.Second),
		GOMAXPROCS:  runtime.GOMAXPROCS(0),
		Version:     moduleVersion(),
		Command:     append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...),
	}
}

// report is the file -json names. A nil *report discards.
type report struct {
	name    string
	started time.Time
}

// newReport finds out whether the file can be written before the measurement.
// What it holds stays until there is something to replace it with.
func newReport(name string) (*report, error) {
	if name == "" {
		return nil, nil
	}
	if err := canWrite(name); err != nil {
		return nil, fmt.Errorf("-json: %w", err)
	}
	return &report{name, time.Now()}, nil
}

// write replaces the file's content. failure is the error that cut the run
// short, if any.
func (r *report) write(config any, failure error, rounds any) error {
	if r == nil {
		return nil
	}
	doc := struct {
		Environment environment `json:"environment"`
		Config      any         `json:"config"`
		Error       string      `json:"error,omitempty"`
		Rounds      any         `json:"rounds"`
	}{Environment: newEnvironment(r.started), Config: config, Rounds: rounds}
	if failure != nil {
		doc.Error = failure.Error()
	}
	return writeJSON(r.name, os.Stdout, doc)
}
