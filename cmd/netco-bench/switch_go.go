package main

import (
	"runtime"
	"sync"
	"time"
)

// Groups, named for the job.
const (
	groupSpawn    = "start a function and await its end"
	groupSpawn100 = "the same, 100 at a time"
	groupYield    = "yield between two on one core"
	groupAsleep   = "wake across threads, target asleep"
	groupBusy     = "wake across threads, target busy"
)

const spawnBatch = 100

// goMicros are the entries of plain Go.
func goMicros() []micro {
	return []micro{
		{name: "go, WaitGroup", group: groupSpawn, run: goSpawnWaitGroup},
		{name: "go, channel", group: groupSpawn, run: goSpawnChannel},
		{name: "go, WaitGroup", group: groupSpawn100, run: goSpawnBatch},
		{name: "go, runtime.Gosched", group: groupYield, run: goYield},
		{name: "go, channel", group: groupAsleep, run: func(n int) time.Duration {
			return goWakeAsleep(n, false)
		}, cpus: 2},
		{name: "go, channel, locked threads", group: groupAsleep, run: func(n int) time.Duration {
			return goWakeAsleep(n, true)
		}, cpus: 2},
		{name: "go, channel", group: groupBusy, run: goWakeAmongBusy, cpus: 2},
		{name: "go, locked loop, select between items", group: groupBusy, run: goWakeBusyLoop,
			cpus: 2},
	}
}

func goSpawnWaitGroup(n int) time.Duration {
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Add(1)
		go wg.Done()
		wg.Wait()
	}
	return time.Since(start)
}

func goSpawnChannel(n int) time.Duration {
	done := make(chan struct{})
	start := time.Now()
	for range n {
		go func() { done <- struct{}{} }()
		<-done
	}
	return time.Since(start)
}

// goSpawnBatch counts a single start as one operation, not the batch.
func goSpawnBatch(n int) time.Duration {
	var wg sync.WaitGroup
	start := time.Now()
	for n > 0 {
		batch := min(n, spawnBatch)
		wg.Add(batch)
		for range batch {
			go wg.Done()
		}
		wg.Wait()
		n -= batch
	}
	return time.Since(start)
}

// goYield runs two goroutines on one P: on several they would not yield to each
// other. An operation is one Gosched of either.
func goYield(n int) time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	half := n/2 + 1
	var wg sync.WaitGroup
	start := time.Now()
	for range 2 {
		wg.Go(func() {
			for range half {
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	return time.Since(start) * time.Duration(n) / time.Duration(2*half)
}
