module github.com/netco-go/netco/interop/ported

go 1.25.0
