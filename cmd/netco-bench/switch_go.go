package main

import (
	"iter"
	"runtime"
	"sync"
	"time"
)

// Groups, named for the job.
const (
	groupSpawn     = "start a function and await its end"
	groupSpawn100  = "the same, 100 at a time"
	groupPingPong  = "unbuffered channel, round trip"
	groupYield     = "yield between two on one core"
	groupNext      = "coroutine: resume and yield, round trip"
	groupCoroutine = "coroutine: create, run, end"
	groupTimer     = "timer: start and stop"
	groupMutex     = "Mutex: Lock, Unlock, uncontended"
	groupRWMutex   = "RWMutex: RLock, RUnlock, uncontended"
	groupAsleep    = "wake across threads, target asleep"
	groupBusy      = "wake across threads, target busy"
)

const spawnBatch = 100

// goMicros are the entries of plain Go.
func goMicros() []micro {
	return []micro{
		{name: "go, WaitGroup", group: groupSpawn, run: goSpawnWaitGroup},
		{name: "go, channel", group: groupSpawn, run: goSpawnChannel},
		{name: "go, WaitGroup", group: groupSpawn100, run: goSpawnBatch},
		{name: "go", group: groupPingPong, run: goPingPong},
		{name: "go, runtime.Gosched", group: groupYield, run: goYield},
		{name: "go, iter.Pull", group: groupNext, run: goPullNext},
		{name: "go, iter.Pull", group: groupCoroutine, run: goPullDrain},
		{name: "go, time.AfterFunc", group: groupTimer, run: goTimer},
		{name: "go, sync.Mutex", group: groupMutex, run: goMutex},
		{name: "go, sync.RWMutex", group: groupRWMutex, run: goRWMutex},
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

func goPingPong(n int) time.Duration {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for v := range ping {
			pong <- v
		}
	}()
	start := time.Now()
	for i := range n {
		ping <- i
		<-pong
	}
	elapsed := time.Since(start)
	close(ping)
	return elapsed
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

func goPullNext(n int) time.Duration {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	})
	defer stop()
	next() // started
	start := time.Now()
	for range n {
		next()
	}
	return time.Since(start)
}

func goPullDrain(n int) time.Duration {
	one := func(yield func(int) bool) { yield(1) }
	start := time.Now()
	for range n {
		next, stop := iter.Pull(one)
		for _, ok := next(); ok; _, ok = next() {
		}
		stop()
	}
	return time.Since(start)
}

func goTimer(n int) time.Duration {
	f := func() {}
	start := time.Now()
	for range n {
		time.AfterFunc(time.Hour, f).Stop()
	}
	return time.Since(start)
}

func goMutex(n int) time.Duration {
	mu := new(sync.Mutex)
	start := time.Now()
	for range n {
		mu.Lock()
		mu.Unlock() //lint:ignore SA2001 the pair is what is measured
	}
	return time.Since(start)
}

func goRWMutex(n int) time.Duration {
	mu := new(sync.RWMutex)
	start := time.Now()
	for range n {
		mu.RLock()
		mu.RUnlock() //lint:ignore SA2001 the pair is what is measured
	}
	return time.Since(start)
}
