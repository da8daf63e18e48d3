package introspect

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"

	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
)

func kindOf(i *sockinfo.Info) string {
	switch {
	case i.Listener:
		return "listener"
	case i.Idle:
		return "idle"
	}
	return "connection"
}

// socketFilter returns a function that reports whether the parameters select a
// socket.
func socketFilter(q *query) func(*sockinfo.Info) bool {
	part, network, processor := q.Get("address"), q.Get("network"), q.processor()
	kind, waits := q.oneOf("kind"), q.oneOf("waits")
	return func(i *sockinfo.Info) bool {
		reads, writes := i.ReadWaiter != 0, i.WriteWaiter != 0
		return (kind == "" || kindOf(i) == kind) &&
			(processor < 0 || i.Processor == processor) &&
			strings.HasPrefix(i.Network, network) &&
			(waits == "" || waits == "any" && (reads || writes) || waits == "read" && reads ||
				waits == "write" && writes || waits == "none" && !reads && !writes) &&
			(part == "" || strings.Contains(address(i.Local), part) ||
				strings.Contains(address(i.Remote), part))
	}
}

func address(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// socketKey returns the key by which a socket is sorted. While an fd passes
// from one socket to another, a walk may see its number twice; then one of the
// two rows may be missing at the border of two pages.
func socketKey(column string, i *sockinfo.Info) key {
	k := key{id: uint64(i.FD)}
	switch column {
	case "kind":
		k.text = kindOf(i)
	case "network":
		k.text = textKey(i.Network)
	case "local":
		k.text = textKey(address(i.Local))
	case "remote":
		k.text = textKey(address(i.Remote))
	case "processor":
		k.n = uint64(i.Processor + 1)
	case "read":
		k.n = i.ReadWaiter
	case "write":
		k.n = i.WriteWaiter
	}
	return k
}

// listSockets is the page "sockets".
func (h *handler) listSockets(ctx context.Context, q *query) (any, error) {
	rows, l, err := list(ctx, q, h.sockets, socketFilter(q), socketKey)
	if err != nil {
		return nil, err
	}
	page := &socketsJSON{l, make([]socketJSON, len(rows))}
	for n := range rows {
		i := &rows[n]
		page.Sockets[n] = socketJSON{i.FD, kindOf(i), i.Network, cut(address(i.Local), maxText),
			cut(address(i.Remote), maxText), i.Processor, i.ReadWaiter, i.WriteWaiter}
	}
	return page, nil
}

// requests is the page "requests".
func (h *handler) requests(context.Context, *query) (any, error) {
	list := []httpinfo.Request{}
	h.src.requests(func(r httpinfo.Request) bool {
		r.Method, r.Target = cut(r.Method, maxText), cut(r.Target, maxText)
		list = append(list, r)
		return true
	})
	slices.SortFunc(list, func(a, b httpinfo.Request) int {
		return cmp.Or(cmp.Compare(b.Age, a.Age), cmp.Compare(a.Remote, b.Remote))
	})
	return &requestsJSON{list[:min(len(list), maxRows)], len(list)}, nil
}
