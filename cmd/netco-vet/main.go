// Netco-vet finds in programs for netco what blocks a coroutine outside of
// netco, and repairs what is safe to repair. docs/VET.md has the rules.
//
//	go vet -vettool=$(which netco-vet) ./...   in the cache of go vet
//	netco-vet ./...                            by itself
//	netco-vet -fix ./...                       with repairs; -diff shows them only
//	netco-vet -lock=false ./...                without a rule
//	netco-vet port DIR                         ports a module to netco, in place
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

func main() {
	multichecker.Main(vet.Analyzers()...)
}
