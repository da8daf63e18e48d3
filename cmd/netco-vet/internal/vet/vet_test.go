package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// all runs every rule as one analyzer, with find's facts, as analysistest has
// one.
var all = &analysis.Analyzer{
	Name: "netco", Doc: "all rules", FactTypes: find.FactTypes, Requires: find.Requires,
	Run: func(pass *analysis.Pass) (any, error) {
		found, err := run(pass)
		if err != nil {
			return nil, err
		}
		for _, d := range found.(*result).found {
			pass.Report(d.Diagnostic)
		}
		return nil, nil
	},
}

// TestRules has a package for each kind of rule. What is expected of it stands
// in its comments. They are loaded together, with the standard library, which
// is what takes the time.
func TestRules(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), all, "dep", "calls", "chans", "flushes",
		"defaults", "behind", "starts", "limits", "limiters")
}

// TestFixes compares what the fixes make with the golden files.
func TestFixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), all, "locks", "times", "nets",
		"handlers", "chat", "waits", "groups", "clients", "plain", "asserts", "chanforms", "channames")
}

// TestValid: go vet's own rules for analyzers.
func TestValid(t *testing.T) {
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Fatal(err)
	}
}
