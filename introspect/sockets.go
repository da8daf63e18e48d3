package introspect

import (
	"context"
	"net"
	"strings"

	"github.com/netco-go/netco/internal/sockinfo"
)

// socketColumns are the columns by which sockets can be sorted, and socketKinds
// the kinds of sockets.
var (
	socketColumns = []string{"fd", "kind", "network", "local", "remote", "processor", "read",
		"write"}
	socketKinds = []string{"", "listener", "connection", "idle"}
	socketWaits = []string{"", "any", "read", "write", "none"}
)

type socketFilter struct {
	address, network string // contained; the beginning
	kind, waits      string
	processor        int
}

func kindOf(i *sockinfo.Info) string {
	switch {
	case i.Listener:
		return "listener"
	case i.Idle:
		return "idle"
	}
	return "connection"
}

func (f *socketFilter) lets(i *sockinfo.Info) bool {
	return (f.kind == "" || kindOf(i) == f.kind) &&
		(f.processor < 0 || i.Processor == f.processor) &&
		strings.HasPrefix(i.Network, f.network) &&
		waiting(i, f.waits) &&
		(f.address == "" || strings.Contains(address(i.Local), f.address) ||
			strings.Contains(address(i.Remote), f.address))
}

// waiting reports whether coroutines wait on a socket in the way that how
// names.
func waiting(i *sockinfo.Info, how string) bool {
	switch how {
	case "any":
		return i.ReadWaiter != 0 || i.WriteWaiter != 0
	case "read":
		return i.ReadWaiter != 0
	case "write":
		return i.WriteWaiter != 0
	case "none":
		return i.ReadWaiter == 0 && i.WriteWaiter == 0
	}
	return true
}

func address(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// socketKey returns the key by which a socket is sorted. While an fd is passed
// on, two sockets may be seen with one number; then one of them may be missing
// at the border of two pages.
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
func (h *handler) listSockets(ctx context.Context, q *query) (*socketsJSON, error) {
	filter := socketFilter{
		address: q.text("address"), network: q.text("network"), processor: q.processor(),
		kind: q.oneOf("kind", socketKinds...), waits: q.oneOf("waits", socketWaits...),
	}
	column, down := q.order(socketColumns...)
	rows := selected[sockinfo.Info](q, down)
	if q.err != nil {
		return nil, q.err
	}
	all := uint64(0)
	cut, err := h.sockets.walk(ctx, func(i *sockinfo.Info) {
		if all++; !filter.lets(i) {
			return
		}
		if k := socketKey(column, i); rows.wants(k) {
			rows.add(k, *i)
		}
	})
	if err != nil {
		return nil, err
	}
	page := rows.page()
	list := &socketsJSON{listJSON: page.list(all, rows.matched, cut),
		Sockets: make([]socketJSON, len(page.rows))}
	for i := range page.rows {
		list.Sockets[i] = socketOf(&page.rows[i])
	}
	return list, nil
}

func socketOf(i *sockinfo.Info) socketJSON {
	return socketJSON{
		FD: i.FD, Kind: kindOf(i), Network: i.Network, Local: cut(address(i.Local), maxText),
		Remote:    cut(address(i.Remote), maxText),
		Processor: i.Processor, ReadWaiter: i.ReadWaiter, WriteWaiter: i.WriteWaiter,
	}
}
