//go:build race

package goruntime_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// racyVar makes a child process of the tests commit a race, with or without the
// release that would make it none.
const racyVar = "NETCO_TEST_RACE"

// handOver lets a goroutine write x and block, and reads x here, which is a
// race unless all that was done is released.
func handOver(t *testing.T, block, free func(), release bool) {
	if err := goruntime.FindRace(); err != nil {
		t.Fatal(err)
	}
	if err := goruntime.FindStandings(); err != nil {
		t.Fatal(err)
	}
	var x int
	var mark byte
	g := make(chan uintptr, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g <- asm.Getg()
		x = 1 // after the send, so that the channel orders nothing
		block()
	}()
	writer := <-g
	for end := time.Now().Add(time.Minute); goruntime.StandingOf(writer) != goruntime.Blocked; {
		if time.Now().After(end) {
			t.Fatal("the writer does not block")
		}
		time.Sleep(time.Millisecond)
	}
	if release {
		goruntime.RaceReleaseAll(unsafe.Pointer(&mark))
		goruntime.RaceAcquire(unsafe.Pointer(&mark))
	}
	if x != 1 {
		t.Error("the writer has not written")
	}
	free()
	<-done
}

// handOvers are the writer's waits: for the detector they are of two kinds.
func handOvers() map[string]wait {
	c := make(chan int)
	var group sync.WaitGroup
	group.Add(1)
	var reads, writes sync.RWMutex
	reads.Lock()
	writes.RLock()
	return map[string]wait{
		"channel":   {block: func() { <-c }, free: func() { close(c) }},
		"WaitGroup": {block: group.Wait, free: group.Done},
		"RLock":     {block: reads.RLock, free: reads.Unlock},
		"Lock":      {block: writes.Lock, free: writes.RUnlock},
	}
}

// TestRaceReleaseAll: what a blocked goroutine did is ordered before what
// follows a release of all, and is a race without that.
func TestRaceReleaseAll(t *testing.T) {
	if in, racy, ok := strings.Cut(os.Getenv(racyVar), " "); ok {
		w := handOvers()[in]
		handOver(t, w.block, w.free, racy == "false")
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for in := range handOvers() {
		for _, racy := range []bool{false, true} {
			cmd := exec.Command(exe, "-test.run=^TestRaceReleaseAll$")
			cmd.Env = append(os.Environ(), fmt.Sprint(racyVar, "=", in, " ", racy),
				"GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if got := strings.Contains(string(out), "DATA RACE"); got != racy ||
				(err != nil) != racy {
				t.Errorf("%s: race %v, want %v; %v\n%.2000s", in, got, racy, err, out)
			}
		}
	}
}
