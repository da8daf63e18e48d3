package cpulist

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int
		ok   bool
	}{
		{"", nil, true},
		{"0", []int{0}, true},
		{"0,2-4", []int{0, 2, 3, 4}, true},
		{"3-3", []int{3}, true},
		{"4-2", nil, false},
		{"a", nil, false},
		{"1,", nil, false},
		{"-1", nil, false},
		{"0-9999999", nil, false},
	} {
		got, err := Parse(c.in)
		if (err == nil) != c.ok || !slices.Equal(got, c.want) {
			t.Errorf("Parse(%q) = %v, %v", c.in, got, err)
		}
	}
}

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
