package coroutine

import (
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestChild: a child ends with its parent, what is not started leaves nothing
// behind, and what the parent starts otherwise goes on.
func TestChild(t *testing.T) {
	on(plain, func(ex *Executor) {
		forever := func() { sleep(time.Hour) }
		var child, loose Handle
		parent := ex.Spawn(Spawn{Fn: func() {
			child = ex.Spawn(Spawn{Fn: forever, Child: true}).Handle()
			loose = ex.Spawn(Spawn{Fn: forever}).Handle()
			testenv.True(t, Current().children.any(), "no child")
		}}).Handle()
		parent.Join()
		if !child.Done() || loose.Done() {
			t.Errorf("the child has ended: %t; the other: %t", child.Done(), loose.Done())
		}
		loose.Stop()
	})
}
