package testenv

import "testing"

func TestScale(t *testing.T) {
	for _, c := range []struct {
		set  string
		race bool
		want float64
	}{
		{"", false, 0.1}, {"", true, 0.1},
		{"1", false, 1}, {"1", true, 0.1},
		{"20", false, 20}, {"20", true, 2},
		{"0.01", false, 0.01}, {"0.01", true, 0.01},
	} {
		if got := scale(c.set, c.race); got != c.want {
			t.Errorf("%s=%q, race %v: %v, want %v", ScaleVar, c.set, c.race, got, c.want)
		}
	}
	for _, wrong := range []string{"0", "-1", "NaN", "Inf", "1e9", "full", "1 "} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s=%q was taken", ScaleVar, wrong)
				}
			}()
			scale(wrong, false)
		}()
	}
}

// TestRounds: a hammer strikes at least once.
func TestRounds(t *testing.T) {
	t.Setenv(ScaleVar, "0.001")
	if got := Rounds(10); got != 1 {
		t.Errorf("%d rounds", got)
	}
	t.Setenv(ScaleVar, "1")
	if got := Rounds(10); got != 10 && got != 1 { // 1 in a race build
		t.Errorf("%d rounds", got)
	}
}
