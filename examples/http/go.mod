module github.com/netco-go/netco/examples/http

go 1.25.0

replace github.com/netco-go/netco => ../..

require (
	github.com/netco-go/netco v0.0.0-00010101000000-000000000000
	github.com/valyala/fasthttp v1.74.0
)

require (
	github.com/klauspost/compress v1.20.0 // indirect
	github.com/molecule-man/go-brrr v1.0.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
