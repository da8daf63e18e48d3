// Netco-vet finds in programs for netco what blocks a coroutine outside of
// netco, and repairs what is safe to repair. docs/VET.md has the rules.
//
//	go vet -vettool=$(which netco-vet) ./...   in the cache of go vet
//	netco-vet ./...                            by itself
//	netco-vet -fix ./...                       with repairs; -diff shows them only
//	netco-vet -lock=false ./...                without a rule
//	netco-vet port [-netco FOLDER] DIR         ports the module in DIR to netco
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/netco-go/netco/cmd/netco-vet/internal/port"
	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "port" {
		if err := runPort(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "netco-vet:", err)
			os.Exit(1)
		}
		return
	}
	multichecker.Main(vet.Analyzers()...)
}

func runPort(args []string) error {
	f := flag.NewFlagSet("netco-vet port", flag.ExitOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: netco-vet port [-netco VERSION|FOLDER] DIR")
		f.PrintDefaults()
	}
	netco := f.String("netco", "latest", "the `version` of netco to require, or a folder that "+
		"has it")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		f.Usage()
		os.Exit(2)
	}
	dir, err := filepath.Abs(f.Arg(0))
	if err != nil {
		return err
	}
	return port.Run(port.Options{Dir: dir, Netco: *netco}, os.Stdout)
}
