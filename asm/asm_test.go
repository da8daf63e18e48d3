package asm_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestGetg: a goroutine keeps its identity over stack growth, blocking and
// calls, and no two have the same at one time.
func TestGetg(t *testing.T) {
	const n = 200
	var mu sync.Mutex
	seen := make(map[uintptr]bool)
	var all, wg sync.WaitGroup
	all.Add(n)
	for range n {
		wg.Go(func() {
			g := asm.Getg()
			mu.Lock()
			testenv.True(t, g != 0 && !seen[g], "identity %#x is another's too", g)
			seen[g] = true
			mu.Unlock()
			all.Done()
			all.Wait() // all are alive
			testenv.True(t, deeper(300) == g && asm.Getg() == g,
				"a goroutine's identity has changed")
		})
	}
	wg.Wait()
}

//go:noinline
func deeper(n int) uintptr {
	var frame [64]byte
	frame[n%64]++
	if n == 0 {
		runtime.Gosched()
		return asm.Getg()
	}
	return deeper(n-1) + uintptr(frame[(n+1)%64])
}

// TestFind: it returns the entry at the hash of the goroutine, and that
// goroutine.
func TestFind(t *testing.T) {
	for _, bits := range []uint64{1, 8, 12} {
		table := make([]unsafe.Pointer, 1<<bits)
		marks := make([]byte, len(table))
		for i := range table {
			table[i] = unsafe.Pointer(&marks[i])
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				entry, g := asm.Find(unsafe.Pointer(&table[0]), 64-bits)
				testenv.True(t, g == asm.Getg() && entry == table[asm.Hash(g)>>(64-bits)],
					"%d bits: goroutine %#x at the wrong entry", bits, g)
			})
		}
		wg.Wait()
	}
}

// TestHash: identities as close together as the runtime's are spread.
func TestHash(t *testing.T) {
	const bits, n = 10, 512
	var load [1 << bits]int
	for i := range uintptr(n) {
		load[asm.Hash(0xc000002000+i*0x1c0)>>(64-bits)]++
	}
	most := 0
	for _, l := range load {
		most = max(most, l)
	}
	testenv.True(t, most <= 6, "%d of %d identities in one of %d entries", most, n, len(load))
}

// TestPause: it returns for every count.
func TestPause(t *testing.T) {
	for _, n := range []uint32{0, 1, 2, 1000, 100_000} {
		asm.Pause(n)
	}
}

// TestPrefetch: no address faults.
func TestPrefetch(t *testing.T) {
	x := 0
	for _, a := range []uintptr{
		0, 1, 4095, ^uintptr(0), ^uintptr(63), 1 << 47, 1 << 63, 0xdeadbeefdeadbeef,
		uintptr(unsafe.Pointer(&x)),
	} {
		asm.Prefetch(a)
	}
}

// TestLoad: it returns the word at any aligned address.
func TestLoad(t *testing.T) {
	words := []uintptr{1, ^uintptr(0), 0, 1 << 63}
	for i := range words {
		testenv.Equal(t, asm.Load(uintptr(unsafe.Pointer(&words[i]))), words[i])
	}
	runtime.KeepAlive(words)
}

//go:noinline
func returnAddress() uintptr { return asm.CallerPC() }

//go:noinline
func withFrame(n int) (uintptr, int) { // a frame large enough to be checked for growth
	var frame [512]int
	frame[n] = 1
	pc := asm.CallerPC()
	return pc, frame[n]
}

type thing struct{ pc uintptr }

//go:noinline
func (t *thing) method() { t.pc = asm.CallerPC() }

//go:noinline
func variadic(args ...any) uintptr { return asm.CallerPC() }

func place(pc uintptr) string {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

func line(t *testing.T) (string, int) {
	t.Helper()
	_, file, n, ok := runtime.Caller(1)
	if !ok {
		t.Fatal("no caller")
	}
	return file, n
}

// TestCallerPC: it names the line that the runtime's own unwinder names.
func TestCallerPC(t *testing.T) {
	check := func(name string, pc uintptr, file string, n int) {
		t.Helper()
		got, want := place(pc), fmt.Sprintf("%s:%d", file, n)
		testenv.True(t, got == want, "%s: called from %s, want %s", name, got, want)
	}
	file, n := line(t)
	pc := returnAddress()
	check("function", pc, file, n+1)
	pc, _ = withFrame(3)
	check("function with a large frame", pc, file, n+3)
	var x thing
	x.method()
	check("method", x.pc, file, n+6)
	f := x.method
	f()
	// The caller of a method value is a wrapper, at the line of the method.
	pc = variadic(1, "two", 3.0)
	check("variadic", pc, file, n+11)
	func() {
		file, n := line(t)
		pc := returnAddress()
		check("closure", pc, file, n+1)
	}()
	done := make(chan uintptr)
	go func() { // on a small stack, which the large frame makes grow
		_, n = line(t)
		pc, _ := withFrame(4)
		done <- pc
	}()
	pc = <-done
	check("on a fresh stack", pc, file, n+1)
}

// TestAllocs: functions for the hot path do not allocate.
func TestAllocs(t *testing.T) {
	for name, f := range map[string]func(){
		"Getg":     func() { asm.Getg() },
		"Prefetch": func() { asm.Prefetch(0) },
		"CallerPC": func() { returnAddress() },
		"Pause":    func() { asm.Pause(1) },
		"Where":    func() { asm.Where() },
	} {
		testenv.Equal(t, testing.AllocsPerRun(100, f), 0, name, "allocations")
	}
}

func ExampleCallerPC() {
	// In a function that must not be inlined:
	pc := returnAddress()
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	fmt.Println(f.Function)
	// Output: github.com/netco-go/netco/asm_test.ExampleCallerPC
}

func ExampleGetg() {
	here := asm.Getg()
	there := make(chan uintptr)
	go func() { there <- asm.Getg() }()
	fmt.Println(here == asm.Getg(), here == <-there)
	// Output: true false
}
