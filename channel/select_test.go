package channel_test

import (
	"testing"
	"time"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
)

// TestSelectFair: of the ready cases each is chosen as often as any other,
// wherever it stands.
func TestSelectFair(t *testing.T) {
	const cases, rounds = 5, 20_000
	var c [cases]*channel.Chan[int]
	for i := range c {
		c[i] = channel.Make[int](1)
	}
	full := func(i int) bool { return i%2 == 0 }
	var chosen [cases]int
	for range rounds {
		list := make([]channel.Case, 0, cases+1)
		for i := range c {
			if full(i) { // ready to receive
				c[i].TrySend(i)
			} else if i == 3 { // not ready at all
				c[i].TryRecv()
			}
			var v int
			if i == 1 {
				c[i].TryRecv()
				list = append(list, c[i].SendCase(1))
			} else {
				list = append(list, c[i].RecvCase(&v))
			}
		}
		i, err := channel.Select(append(list, channel.Default())...)
		if err != nil || i < 0 || i >= cases || i == 3 {
			t.Fatal(i, err)
		}
		chosen[i]++
	}
	const mean = rounds / (cases - 1)
	for i, n := range chosen {
		if i != 3 && (n < mean*85/100 || n > mean*115/100) { // 12 standard deviations
			t.Errorf("case %d was chosen %d times of %d, about %d are its due: %v", i, n, rounds,
				mean, chosen)
		}
	}
}

// TestSelect: what Select returns, and what it leaves alone.
func TestSelect(t *testing.T) {
	everywhere(t, func(t *testing.T, spawn func(func())) {
		a, b := channel.Make[int](0), channel.Make[int](1)
		bias(a)
		bias(b)
		v, w := -1, -1
		check := func(what string, i, wantI int, err, wantErr error, wantV, wantW int) {
			t.Helper()
			if i != wantI || err != wantErr || v != wantV || w != wantW {
				t.Errorf("%s: %d, %v; v, w = %d, %d; want %d, %v; %d, %d", what, i, err, v, w,
					wantI, wantErr, wantV, wantW)
			}
		}
		i, err := channel.Select(a.RecvCase(&v), channel.Default(), b.RecvCase(&w))
		check("default", i, 1, err, nil, -1, -1)
		i, err = channel.Select(a.RecvCase(&v), b.SendCase(7))
		check("send", i, 1, err, nil, -1, -1)
		i, err = channel.Select(a.RecvCase(&v), b.RecvCase(&w))
		check("receive", i, 1, err, nil, -1, 7)

		spawn(func() { a.Send(8) })
		i, err = channel.Select(a.RecvCase(&v), b.RecvCase(&w), a.RecvCase(nil), a.RecvCase(&v))
		if i == 2 {
			v = 8
		}
		check("the same channel thrice", i&^3, 0, err, nil, 8, 7)
		i, err = channel.SelectTimeout(time.Millisecond, a.RecvCase(&v), a.SendCase(1))
		testenv.Equal(t, i, -1, "met itself", err)
		// Two that could do with each other either way do one thing.
		done := channel.Make[int](1)
		spawn(func() {
			var x int
			i, _ := channel.Select(a.SendCase(1), a.RecvCase(&x))
			done.Send(i)
		})
		i, _ = channel.Select(a.SendCase(2), a.RecvCase(&v))
		if k, _ := done.Recv(); i+k != 1 {
			t.Errorf("one did case %d, the other %d", i, k)
		}
		b.Close()
		w = 5
		i, err = channel.Select(a.RecvCase(&v), b.RecvCase(&w))
		check("the end", i, 1, err, channel.ErrClosed, v, 0)
		testenv.Panics(t, "netco/channel: send on closed channel", func() {
			channel.Select(b.SendCase(1))
		})
		if !a.TrySend(1) { // both guards are free after the panic, and a has no waiter
			if s, r := a.Waiting(); s != 0 || r != 0 {
				t.Error("left behind:", s, r)
			}
		}
	})
}

// TestSelectMany: more cases than there is room for on the stack.
func TestSelectMany(t *testing.T) {
	everywhere(t, func(t *testing.T, spawn func(func())) {
		const n = 40
		var c [n]*channel.Chan[int]
		var v [n]int
		list := make([]channel.Case, n)
		for i := range c {
			c[i] = channel.Make[int](0)
			list[i] = c[i].RecvCase(&v[i])
		}
		spawn(func() {
			for i := range c {
				c[i].Send(i + 1)
			}
		})
		for i := range c {
			if k, err := channel.Select(list...); k != i || err != nil || v[i] != i+1 {
				t.Fatal(i, k, err, v[i])
			}
		}
	})
}

// TestSelectOnAnyStack: Select writes to variables on its caller's stack, which
// may move at any point.
func TestSelectOnAnyStack(t *testing.T) {
	c, d := channel.Make[*int](0), channel.Make[*int](1)
	for depth := range 200 {
		x := depth
		d.Send(&x)
		goroutine(func() { deeper(t, depth, c, d) }) // on a new stack of the least size
		goroutine(func() {
			sent := make(chan struct{})
			go func() { c.Send(&x); close(sent) }()
			deeper(t, depth, c, d)
			<-sent
		})
	}
}

//go:noinline
func deeper(t *testing.T, n int, c, d *channel.Chan[*int]) int {
	if n > 0 {
		return deeper(t, n-1, c, d) + 1
	}
	var v, w *int
	i, err := channel.SelectTimeout(time.Hour, c.RecvCase(&v), d.RecvCase(&w))
	if err != nil || i == 0 && v == nil || i == 1 && w == nil {
		t.Error(i, err, v, w)
	}
	return 0
}
