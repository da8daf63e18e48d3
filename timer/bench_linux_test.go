package timer_test

import (
	"testing"

	"github.com/netco-go/netco/timer"
)

// BenchmarkArm compares the syscall with the case that needs none.
func BenchmarkArm(b *testing.B) {
	fd, err := timer.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer fd.Close()
	now := monotonic()
	far := now + 3600e9
	b.Run("earlier", func(b *testing.B) {
		for b.Loop() {
			far--
			if err := fd.Arm(far, now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("later", func(b *testing.B) {
		for b.Loop() {
			if err := fd.Arm(far+1, now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
