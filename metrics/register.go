package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/scheduler"
)

// ErrSecondScheduler is the error of Register for a registerer that has another
// Scheduler already. The package documentation shows how to register several.
var ErrSecondScheduler = errors.New("netco/metrics: another scheduler is registered; " +
	"WrapRegistererWith a label tells them apart")

// Register registers the collectors of s, which may be started later, and of
// the process. It may be called again with the same arguments. The error is
// ErrSecondScheduler or the registerer's; after an error s is not registered.
func Register(r prometheus.Registerer, s *scheduler.Scheduler) error {
	if r == nil || s == nil {
		return errors.New("netco/metrics: Register needs a registerer and a scheduler")
	}
	var already prometheus.AlreadyRegisteredError
	added := false
	switch err := r.Register(NewCollector(s)); {
	case errors.As(err, &already):
		if c, ok := already.ExistingCollector.(*collector); !ok || c.s != s {
			return ErrSecondScheduler
		}
	case err != nil:
		return fmt.Errorf("netco/metrics: %w", err)
	default:
		added = true
	}
	if err := r.Register(NewProcessCollector()); err != nil && !errors.As(err, &already) {
		if added {
			r.Unregister(NewCollector(s))
		}
		return fmt.Errorf("netco/metrics: %w", err)
	}
	return nil
}
