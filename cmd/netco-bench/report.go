package main

import (
	"encoding/json"
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
	file    *os.File
	started time.Time
}

// newReport opens path, so that a bad one is known before the measurement. What
// the file holds stays until there is something to replace it with.
func newReport(path string) (*report, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("-json: %w", err)
	}
	return &report{f, time.Now()}, nil
}

// write replaces the file's content and closes it. failure is the error that
// cut the run short, if any.
func (r *report) write(config any, failure error, rounds any) error {
	if r == nil {
		return nil
	}
	defer r.file.Close()
	doc := struct {
		Environment environment `json:"environment"`
		Config      any         `json:"config"`
		Error       string      `json:"error,omitempty"`
		Rounds      any         `json:"rounds"`
	}{Environment: newEnvironment(r.started), Config: config, Rounds: rounds}
	if failure != nil {
		doc.Error = failure.Error()
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	if err := r.file.Truncate(0); err != nil && !isSpecialFile(r.file) {
		return fmt.Errorf("-json: %w", err)
	}
	if _, err := r.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	return r.file.Close()
}

// isSpecialFile says whether f is a device or pipe, such as /dev/stdout.
func isSpecialFile(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && !st.Mode().IsRegular()
}
