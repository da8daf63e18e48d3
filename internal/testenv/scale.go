package testenv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

// ScaleVar is the environment variable that scales the long tests: the rounds
// of hammers, the length of random programs and of soak, and which programs are
// explored in every order. 1 is full length, as .ci/run sets it; unset means
// 0.1.
const ScaleVar = "NETCO_TEST_SCALE"

const usualScale = 0.1

// Scale returns the value of ScaleVar. In race builds, where everything takes
// ten times as long, it returns a tenth, but no less than the default. Call it
// while tests run: it reads the variable each time, so that go test's cache
// depends on it.
func Scale() float64 {
	return scale(os.Getenv(ScaleVar), goruntime.RaceEnabled)
}

func scale(set string, race bool) float64 {
	s := usualScale
	if set != "" {
		var err error
		if s, err = strconv.ParseFloat(set, 64); err != nil || !(s > 0 && s <= 1000) {
			panic(fmt.Sprintf("testenv: %s=%q is not a number above 0 and up to 1000",
				ScaleVar, set))
		}
	}
	if race && s > usualScale {
		s = max(usualScale, s/10)
	}
	return s
}

// Seed returns the seed of a test with random input; NETCO_SEED repeats a run.
func Seed(t testing.TB) uint64 {
	seed := rand.Uint64()
	if s := os.Getenv("NETCO_SEED"); s != "" {
		seed = Must(strconv.ParseUint(s, 10, 64))
	}
	t.Logf("repeat with NETCO_SEED=%d", seed)
	return seed
}

// Rounds returns the number of rounds of a hammer that has n at full length.
func Rounds(n int) int { return max(1, int(float64(n)*Scale())) }

// Full reports whether tests run at full length, or longer.
func Full() bool { return Scale() >= 1 }

// Long skips a test, or a part of a test, unless tests run at full length.
func Long(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skipf("runs with %s=1 or more, in race builds 10", ScaleVar)
	}
}
