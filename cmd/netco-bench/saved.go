package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/sweep"
)

// saved is a file that load, merge, compare or sweep has written. One of the
// pointers is set.
type saved struct {
	name    string
	load    *result.Result
	compare *compare.File
	sweep   *sweep.Sweep
}

func readSaved(name string) (s saved, err error) {
	s.name = strings.TrimSuffix(filepath.Base(name), ".json")
	text, err := os.ReadFile(name)
	if err != nil {
		return s, err
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return s, fmt.Errorf("%s is no file of netco-bench: %w", name, err)
	}
	switch head.Kind {
	case compare.Kind:
		s.compare, err = result.Decode[compare.File](text, compare.Kind, compare.Schema)
	case sweep.Kind:
		s.sweep, err = result.Decode[sweep.Sweep](text, sweep.Kind, sweep.Schema)
	default:
		s.load, err = result.Decode[result.Result](text, result.Kind, result.Schema)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func readAllSaved(names []string) (all []saved, err error) {
	for _, name := range names {
		s, err := readSaved(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// writeFile writes to a file, or to stdout if name is "-". It writes nothing if
// write fails.
func writeFile(name string, stdout io.Writer, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name == "-" {
		_, err := stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// writeJSON writes what -json asks for, nothing if that is empty.
func writeJSON(name string, stdout io.Writer, value any) error {
	if name == "" {
		return nil
	}
	return writeFile(name, stdout, func(w io.Writer) error { return encode(w, value) })
}

func encode(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// canWrite reports before a measurement that its files could not be written
// after it. It leaves no empty file behind, and lets pipes and devices be: a
// reader would take them for written.
func canWrite(names ...string) error {
	for _, name := range names {
		if name == "" || name == "-" {
			continue
		}
		info, missing := os.Stat(name)
		if missing == nil && !info.Mode().IsRegular() && !info.IsDir() {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		f.Close()
		if missing != nil {
			os.Remove(name)
		}
	}
	return nil
}

// parseAround parses flags that stand before, between and after arguments, and
// returns the arguments. usage stands at the head of the help.
func parseAround(fs *flag.FlagSet, usage string, args []string, stdout io.Writer) (rest []string,
	err error) {
	fs.SetOutput(io.Discard)
	for {
		switch err := fs.Parse(args); {
		case err == flag.ErrHelp:
			fmt.Fprintf(stdout, "Usage: netco-bench %s %s\n\n", fs.Name(), usage)
			fs.SetOutput(stdout)
			fs.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, usagef("%v", err)
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		// What follows -- is arguments only.
		if n := len(args) - fs.NArg(); n > 0 && args[n-1] == "--" {
			return append(rest, fs.Args()...), nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}
