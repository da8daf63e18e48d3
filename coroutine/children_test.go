package coroutine

import (
	"testing"
	"time"
)

// TestAsChild: a child ends with its parent, what is not started leaves nothing
// behind, and what the parent starts otherwise goes on.
func TestAsChild(t *testing.T) {
	within(t, time.Minute)
	if _, err := AsChild(Spawn{}); err != ErrNotCoroutine {
		t.Error(err)
	}
	on(plain, func(ex *Executor) {
		forever := func() { sleep(time.Hour) }
		var child, loose Handle
		parent := ex.Spawn(Spawn{Fn: func() {
			s, err := AsChild(Spawn{Fn: forever})
			if err != nil {
				t.Error(err)
			}
			if Current().children.any() {
				t.Error("a child that is not there")
			}
			child = ex.Spawn(s).Handle()
			loose = ex.Spawn(Spawn{Fn: forever}).Handle()
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
