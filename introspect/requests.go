package introspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/netco-go/netco/internal/httpinfo"
)

// maxRequests is how many requests the page shows.
const maxRequests = 1000

// requests is the page "requests".
func (h *handler) requests(_ context.Context, q *query) (*requestsJSON, error) {
	if q.err != nil {
		return nil, q.err
	}
	r := &requestsJSON{Requests: []requestJSON{}}
	h.src.requests(func(x httpinfo.Request) bool {
		r.Requests = append(r.Requests, requestJSON{
			Method: cut(x.Method, maxText), Target: cut(x.Target, maxText), Remote: x.Remote,
			Proto: x.Proto, AgeNs: int64(x.Age), Goroutine: x.Goroutine,
		})
		return true
	})
	slices.SortFunc(r.Requests, func(a, b requestJSON) int {
		return cmp.Or(cmp.Compare(b.AgeNs, a.AgeNs), cmp.Compare(a.Remote, b.Remote))
	})
	r.Total = len(r.Requests)
	r.Requests = r.Requests[:min(r.Total, maxRequests)]
	return r, nil
}
