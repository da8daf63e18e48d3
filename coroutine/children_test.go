package coroutine

import (
	"errors"
	"testing"
	"time"
)

// TestStartChild: start makes one child; where it fails nothing is left behind.
func TestStartChild(t *testing.T) {
	within(t, time.Minute)
	if _, err := StartChild(func() (Handle, error) {
		t.Error("called")
		return Handle{}, nil
	}); err != ErrNotCoroutine {
		t.Error(err)
	}
	on(plain, func(ex *Executor) {
		refused := errors.New("refused")
		forever := func() { sleep(time.Hour) }
		var child, loose Handle
		parent := ex.Spawn(Spawn{Fn: func() {
			if _, err := StartChild(func() (Handle, error) {
				return Handle{}, refused
			}); err != refused {
				t.Error(err)
			}
			if _, err := StartChild(func() (Handle, error) { return Handle{}, nil }); err != nil {
				t.Error(err)
			}
			if Current().children.any() {
				t.Error("a child that is not there")
			}
			child, _ = StartChild(func() (Handle, error) {
				h := ex.Spawn(Spawn{Fn: forever}).Handle()
				loose = ex.Spawn(Spawn{Fn: forever}).Handle()
				return h, nil
			})
			if !Current().children.any() {
				t.Error("no child")
			}
		}}).Handle()
		parent.Join()
		if !child.Done() || loose.Done() {
			t.Errorf("the child has ended: %t; the other: %t", child.Done(), loose.Done())
		}
		loose.Stop()
	})
}
