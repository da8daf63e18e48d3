package cpulist

import (
	"slices"
	"testing"
)

func TestBindAndRelease(t *testing.T) {
	before, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	release, err := Bind(before[:1])
	if err != nil {
		t.Fatal(err)
	}
	bound, _ := Allowed()
	if !slices.Equal(bound, before[:1]) {
		t.Errorf("bound to %v, want %v", bound, before[:1])
	}
	release()
	release, err = Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := Bind([]int{maxCPU}); err == nil {
		t.Error("binding to a CPU that does not exist succeeds")
	}
}
