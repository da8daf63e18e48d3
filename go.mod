module github.com/netco-go/netco

go 1.25.0

require (
	go.uber.org/zap v1.28.0
	golang.org/x/sys v0.45.0
)

require go.uber.org/multierr v1.10.0 // indirect
