package linearizability

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/netco-go/netco/sync"
)

// history makes one of calls that are written down.
func history[S any](calls ...call[S]) (all []porcupine.Operation) {
	for i, c := range calls {
		for _, s := range c.steps {
			all = append(all, porcupine.Operation{ClientId: i, Input: s, Call: c.begin,
				Return: c.end})
		}
	}
	return all
}

type call[S any] struct {
	begin, end int64
	steps      []S
}

// judged is a history, which is right or not.
type judged struct {
	what    string
	model   porcupine.Model
	history []porcupine.Operation
	want    bool
}

func lockHistories() []judged {
	lock := func(begin, end int64, op string) call[held] {
		return call[held]{begin, end, []held{{op}}}
	}
	return []judged{
		{"a second lock waits", lockModel(), history(lock(1, 2, "lock"), lock(3, 6, "lock"),
			lock(4, 5, "unlock")), true},
		{"two hold a lock", lockModel(), history(lock(1, 2, "lock"), lock(3, 4, "lock"),
			lock(5, 6, "unlock")), false},
		{"refused while another may hold it", lockModel(),
			history(lock(1, 3, "lock"), lock(2, 4, "refused")), true},
		{"refused while nobody holds it", lockModel(),
			history(lock(1, 2, "lock"), lock(3, 4, "unlock"), lock(5, 6, "refused")), false},
	}
}

func registerHistories() []judged {
	write := func(begin, end int64, v int) call[access] {
		return call[access]{begin, end, []access{{"write", v}}}
	}
	read := func(begin, end int64, v int) call[access] {
		return call[access]{begin, end, []access{{"read", v}}}
	}
	return []judged{
		{"a read beside a write", registerModel(), history(write(1, 2, 1), write(3, 5, 2),
			read(4, 6, 1)), true},
		{"a stale read", registerModel(), history(write(1, 2, 1), write(3, 4, 2), read(5, 6, 1)),
			false},
		{"two reads that disagree on the order", registerModel(),
			history(write(1, 8, 1), write(2, 9, 2), read(3, 4, 1), read(5, 6, 2), read(10, 11, 1)),
			false},
	}
}

func semaphoreHistories() []judged {
	sem := func(begin, end int64, id, n byte, ops ...string) call[units] {
		c := call[units]{begin: begin, end: end}
		for _, op := range ops {
			c.steps = append(c.steps, units{op, id, n})
		}
		return c
	}
	acquire := []string{"come", "go"}
	return []judged{
		{"three units of three", semaphoreModel(3), history(sem(1, 2, 0, 2, acquire...),
			sem(3, 4, 1, 1, acquire...)), true},
		{"four units of three", semaphoreModel(3), history(sem(1, 2, 0, 2, acquire...),
			sem(3, 4, 1, 2, acquire...)), false},
		{"refused with none free", semaphoreModel(3), history(sem(1, 2, 0, 3, acquire...),
			sem(3, 4, 1, 1, "refused")), true},
		{"refused with one free", semaphoreModel(3), history(sem(1, 2, 0, 2, acquire...),
			sem(3, 4, 1, 1, "refused")), false},
		{"refused while another waits", semaphoreModel(3), history(sem(1, 2, 0, 2, acquire...),
			sem(3, 8, 1, 2, acquire...), sem(4, 5, 2, 1, "refused"),
			sem(6, 7, 0, 2, "release")), true},
		{"one who waits is not passed", semaphoreModel(3), history(sem(1, 2, 0, 1, acquire...),
			sem(3, 12, 1, 3, acquire...), sem(4, 5, 2, 1, "refused"),
			sem(6, 7, 0, 1, "release")), true},
		{"one who waits is passed", semaphoreModel(3), history(sem(1, 2, 0, 1, acquire...),
			sem(3, 12, 1, 3, acquire...), sem(4, 5, 2, 1, "refused"), sem(6, 7, 2, 1, "taken"),
			sem(8, 9, 2, 1, "release"), sem(10, 11, 0, 1, "release")), false},
		{"more released than held", semaphoreModel(3), history(sem(1, 2, 0, 1, acquire...),
			sem(3, 4, 0, 2, "release")), false},
	}
}

func channelHistories() []judged {
	ch := func(begin, end int64, id, v byte, ops ...string) call[transfer] {
		c := call[transfer]{begin: begin, end: end}
		for _, op := range strings.Fields(strings.Join(ops, " ")) {
			c.steps = append(c.steps, transfer{op, id, v})
		}
		return c
	}
	const send, recv = "send sent", "recv got"
	return []judged{
		{"a value through a buffer", channelModel(1),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 1, 1, recv)), true},
		{"a value that waits nowhere", channelModel(0),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 1, 1, recv)), false},
		{"a meeting", channelModel(0), history(ch(1, 3, 0, 1, send), ch(2, 4, 1, 1, recv)), true},
		{"a value that nobody has sent", channelModel(1),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 1, 2, recv)), false},
		{"a value twice", channelModel(1), history(ch(1, 2, 0, 1, send), ch(3, 4, 1, 1, recv),
			ch(5, 6, 1, 1, recv)), false},
		{"in order", channelModel(2), history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 2, send),
			ch(5, 6, 1, 1, recv), ch(7, 8, 1, 2, recv)), true},
		{"out of order", channelModel(2), history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 2, send),
			ch(5, 6, 1, 2, recv), ch(7, 8, 1, 1, recv)), false},
		{"more than the buffer holds", channelModel(2),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 2, send), ch(5, 6, 0, 3, send)), false},
		{"full", channelModel(1), history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 2, "full")), true},
		{"full while there is room", channelModel(2),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 2, "full")), false},
		{"empty", channelModel(1), history(ch(1, 2, 0, 1, send), ch(3, 4, 1, 1, recv),
			ch(5, 6, 1, 0, "empty")), true},
		{"empty while there is something", channelModel(1),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 1, 0, "empty")), false},
		{"the rest, then the end", channelModel(1),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 0, "close"), ch(5, 6, 1, 1, recv),
				ch(7, 8, 1, 0, recv)), true},
		{"the end before the rest", channelModel(1),
			history(ch(1, 2, 0, 1, send), ch(3, 4, 0, 0, "close"), ch(5, 6, 1, 0, recv),
				ch(7, 8, 1, 1, recv)), false},
		{"sent after the end", channelModel(1),
			history(ch(1, 2, 0, 0, "close"), ch(3, 4, 0, 1, send)), false},
		{"closed twice", channelModel(1), history(ch(1, 2, 0, 0, "close"), ch(3, 4, 0, 0, "close")),
			false},
	}
}

// TestModels: of histories that differ in little, the right one is accepted and
// the wrong one is not.
func TestModels(t *testing.T) {
	for _, c := range slices.Concat(lockHistories(), registerHistories(), semaphoreHistories(),
		channelHistories()) {
		if got := porcupine.CheckOperations(c.model, c.history); got != c.want {
			t.Errorf("%s: %t\n%s", c.what, got, told(c.history))
		}
	}
}

// mustReject runs a broken thing until one of its histories is found to be wrong.
func mustReject[S, T any](t *testing.T, m porcupine.Model, prepare func(*rand.Rand) T,
	body func(*client[S], T)) {
	t.Helper()
	rejected := false
	record(t, prepare, body, func(_ T, history []porcupine.Operation) bool {
		rejected = porcupine.CheckOperationsTimeout(m, history, patience) == porcupine.Illegal
		return !rejected
	})
	if !rejected {
		t.Error("no history was rejected")
	}
}

// lazy is a semaphore that refuses now and then although there is enough.
type lazy struct {
	*sync.Semaphore
	tries *atomic.Int32
}

func (l lazy) TryAcquire(n int64) bool { return l.tries.Add(1)%4 != 0 && l.Semaphore.TryAcquire(n) }

// TestBrokenAreRejected: primitives with bugs are found out by what they do.
func TestBrokenAreRejected(t *testing.T) {
	t.Run("a counter without a lock", func(t *testing.T) {
		mustReject(t, counterModel(), func(*rand.Rand) *counter {
			return new(counter)
		}, func(c *client[added], x *counter) {
			for i := 0; i < 8 && c.id%3 == 0; i++ { // on one Processor: else it would be a data race besides
				c.call(func() []added { return x.add(c) })
			}
		})
	})
	t.Run("a semaphore with one unit too many", func(t *testing.T) {
		mustReject(t, semaphoreModel(semaphoreSize), func(*rand.Rand) semaphore {
			return sync.NewSemaphore(semaphoreSize + 1)
		}, useSemaphore)
	})
	t.Run("a semaphore that refuses for nothing", func(t *testing.T) {
		lazy := lazy{sync.NewSemaphore(semaphoreSize), new(atomic.Int32)}
		mustReject(t, semaphoreModel(semaphoreSize), func(*rand.Rand) semaphore {
			return lazy
		}, useSemaphore)
	})
	t.Run("a buffer where there should be none", func(t *testing.T) {
		mustReject(t, channelModel(0), newPipe(1, false), usePipe)
	})
	t.Run("a buffer that is too large", func(t *testing.T) {
		mustReject(t, channelModel(2), newPipe(3, false), usePipe)
	})
}
