package blocking_test

import (
	"context"
	"testing"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/testrun"
)

// BenchmarkDo is one call after the other, each with nothing to do: what the
// way there and back costs. Beside it, what a goroutine pays that starts
// another for each call and waits on a channel.
func BenchmarkDo(b *testing.B) {
	inCoroutine := func(b *testing.B, call func()) {
		testrun.Start(b, 1)
		b.ReportAllocs()
		<-testrun.First.Go(func() {
			for b.Loop() {
				call()
			}
		}).Done
	}
	b.Run("Do", func(b *testing.B) { inCoroutine(b, func() { blocking.Do(bg, func() {}) }) })
	b.Run("Call", func(b *testing.B) {
		inCoroutine(b, func() { blocking.Call(bg, func() (int, error) { return 1, nil }) })
	})
	b.Run("Do until", func(b *testing.B) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		inCoroutine(b, func() { blocking.Do(ctx, func() {}) })
	})
	b.Run("goroutine each", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			done := make(chan struct{})
			go func() { close(done) }()
			<-done
		}
	})
}

// BenchmarkDoMany has many coroutines of one Processor call at once.
func BenchmarkDoMany(b *testing.B) {
	const n = 64
	testrun.Start(b, 1)
	b.ReportAllocs()
	b.ResetTimer()
	var all []*testrun.Task
	for range n {
		all = append(all, testrun.First.Go(func() {
			for range b.N/n + 1 {
				blocking.Do(bg, func() {})
			}
		}))
	}
	for _, k := range all {
		<-k.Done
	}
}
