package main

import (
	"strings"
	"testing"
)

// TestPage: what docs/PORTING.md shows can be read, and what it says of
// netco-vet is in testdata/left, against which the ports hold netco-vet.
func TestPage(t *testing.T) {
	blocks, err := readPage()
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]int{}
	for _, b := range blocks {
		stages[b.module+" "+b.stage]++
		t.Run(b.module+" "+b.stage, func(t *testing.T) { checkBlock(t, b) })
	}
	for name := range onPage {
		for _, stage := range []string{stageSays, stagePort, stageHand} {
			if stages[name+" "+stage] == 0 {
				t.Errorf("nothing for %s, stage %s", name, stage)
			}
		}
	}
}

func checkBlock(t *testing.T, b block) {
	if !onPage[b.module] {
		t.Fatal("no such module")
	}
	switch b.stage {
	case stagePort, stageFix, stageHand:
		if _, err := b.hunks(); err != nil {
			t.Error(err)
		}
	case stageSays:
		words := strings.Join(strings.Fields(b.text), " ")
		left := strings.Join(strings.Fields((&module{name: b.module}).left()), " ")
		if words == "" || !strings.Contains(left, words) {
			t.Errorf("netco-vet port does not say\n%s", b.text)
		}
	default:
		t.Errorf("no such stage")
	}
}
