// Package grpc hands netco's connections to grpc-go, which works on goroutines
// of its own.
package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestCalls: the server is goroutines, and so are a client's connections; calls
// are made by goroutines, by coroutines, and through package blocking.
func TestCalls(t *testing.T) {
	place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
		ln, err := netco.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		healthpb.RegisterHealthServer(server, health.NewServer())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ln) }()
		conn, err := dial(ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.All(4, func(int) error { return calls(conn) }); err != nil {
			t.Error(err)
		}
		conn.Close()
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestServerEnds: the end of the Scheduler ends a server as a Close of its
// listener does.
func TestServerEnds(t *testing.T) {
	if err := netco.Start(netco.Options{Processors: 1}); err != nil {
		t.Fatal(err)
	}
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	conn, err := dial(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := calls(conn); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), place.Limit)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v, want what is net.ErrClosed", err)
	}
	server.Stop()
}

func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return new(socket.Dialer).DialContext(ctx, "tcp", address)
		}))
}

// calls makes calls that wait for their answers.
func calls(conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), place.Limit)
	defer cancel()
	client := healthpb.NewHealthClient(conn)
	for range 20 {
		got, err := client.Check(ctx, &healthpb.HealthCheckRequest{})
		if err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
			return fmt.Errorf("answer %v, %w", got, err)
		}
	}
	return nil
}
