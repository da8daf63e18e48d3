package coroutine

import "errors"

// ErrBubble is returned in a bubble of testing/synctest by everything that
// starts a Scheduler or its coroutines, or waits for them. Started there, they
// would belong to the bubble, which ends only when they have; those of threads
// outside do not see the bubble's clock. What ordinary goroutines do among
// themselves works there.
var ErrBubble = errors.New(
	"netco: Schedulers and their coroutines cannot be used in a testing/synctest bubble")
