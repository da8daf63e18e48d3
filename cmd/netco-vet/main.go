// Netco-vet finds in programs for netco what blocks a coroutine outside of
// netco, and repairs what is safe to repair. docs/VET.md has the rules.
//
//	go vet -vettool=$(which netco-vet) ./...   in the cache of go vet
//	netco-vet ./...                            by itself
//	netco-vet -fix ./...                       repairs; with -diff it shows that only
//	netco-vet -lock=false ./...                without a rule
//	netco-vet port ./...                       ports the module to netco; -d shows a diff only
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/netco-go/netco/cmd/netco-vet/internal/port"
	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "port" {
		os.Exit(runPort(os.Args[2:]))
	}
	multichecker.Main(vet.Analyzers()...)
}

// runPort ports a module and returns the exit code: 0 if all is done, 3 if
// something is left, 1 if it failed and nothing was changed.
func runPort(args []string) int {
	f := flag.NewFlagSet("netco-vet port", flag.ExitOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: netco-vet port [flags] DIR | PACKAGES")
		f.PrintDefaults()
		fmt.Fprintln(f.Output(), "It exits with 0 if all is done, 3 if something is left, and 1 if "+
			"it failed and nothing was changed.")
	}
	var o port.Options
	f.StringVar(&o.Netco, "netco", "", "the `version` of netco to require, or a folder that has "+
		"it; the newest by default")
	f.StringVar(&o.Tags, "tags", "", "build `tags`")
	f.BoolVar(&o.Dry, "d", false, "write a diff, and the report to stderr; change nothing")
	f.Parse(args)
	if f.NArg() == 0 {
		f.Usage()
		return 2
	}
	o.Dir, o.Patterns = ".", f.Args()
	if dir := strings.TrimSuffix(f.Arg(0), "/..."); f.NArg() == 1 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			o.Dir, o.Patterns = dir, nil
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	defer stop()
	report := os.Stdout
	if o.Dry {
		report = os.Stderr
	}
	left, err := port.Run(ctx, o, report, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "netco-vet:", err)
		return 1
	case left:
		return 3
	}
	return 0
}
