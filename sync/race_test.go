//go:build race

package sync

import (
	"bytes"
	"os"
	"os/exec"
	stdsync "sync"
	"testing"
)

// TestRacesAreFound runs programs with a race of their own under the detector.
// That it finds nothing where there is no race, every other test shows.
func TestRacesAreFound(t *testing.T) {
	const which = "RWMUTEX_TEST_RACE"
	shared := 0
	together := func(f, g func()) {
		var wg stdsync.WaitGroup
		wg.Go(f)
		wg.Go(g)
		wg.Wait()
	}
	programs := map[string]func(){
		"no lock": func() {
			var m RWMutex
			together(func() { m.Lock(); shared++; m.Unlock() }, func() { shared++ })
		},
		"writes under RLock": func() {
			var m RWMutex
			f := func() { m.RLock(); shared++; m.RUnlock() } // also when one is long over
			together(f, f)
		},
		"a write under TryRLock": func() {
			var m RWMutex
			f := func() {
				if m.TryRLock() {
					shared++
					m.RUnlock()
				}
			}
			together(f, f)
		},
		"two locks": func() {
			var m, n RWMutex
			together(func() { m.Lock(); shared++; m.Unlock() }, func() {
				n.Lock()
				shared++
				n.Unlock()
			})
		},
	}
	if f := programs[os.Getenv(which)]; f != nil {
		f()
		return
	}
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestRacesAreFound$")
			cmd.Env = append(os.Environ(), which+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("DATA RACE")) {
				t.Errorf("not found: %v\n%s", err, out)
			}
		})
	}
}
