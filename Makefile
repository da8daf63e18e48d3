# The steps themselves are in .ci/run, which needs no make.

.DEFAULT_GOAL := help
.PHONY: help build test long releases race bench bench-report peers scale lint tidy portable tools fuzz hooks release interop arm64 \
	soak check

help: ## print this
	@grep -hE '^[a-z0-9-]+:.*## ' Makefile | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null || \
		grep -hE '^[a-z0-9-]+:.*## ' Makefile

build: ## build every package and program
	go build ./...

test: ## run the tests, the long ones in short
	go test ./...

long: ## run the tests at full length, and those of the engine under the portable context backend
	.ci/run test portable

releases: ## run the tests that can differ with the other Go releases
	.ci/run releases

race: ## run the tests of the concurrent packages under the race detector
	.ci/run race

bench: ## run the packages' benchmarks and netco's primitives beside Go's
	go test -run '^$$' -bench . -benchmem ./...
	go run ./cmd/netco-bench switch

bench-report: ## measure all figures of docs anew: text into docs/bench, JSON into bench/report
	bench/all.sh

peers: ## measure netco and its peers in alternating rounds: make peers CONNS="64 1000" TIME=2s SHARES=50 CORES=one
	bench/peers.sh

scale: ## measure the loads of docs/SCALING.md on this machine
	bench/scale.sh

lint: ## gofmt, go vet, staticcheck, other platforms, and the API beside the last release's
	.ci/run format vet platforms api lint

tidy: ## run go mod tidy in every module
	.ci/run --tidy

portable: ## run the tests of the engine under the portable context backend, with invariants checked
	.ci/run portable

tools: ## run the tests of netco-bench, netco-vet and the examples, at full length
	.ci/run tools

fuzz: ## run each fuzz target for FUZZTIME, 20s by default
	.ci/run fuzz

hooks: ## have git run what CONTRIBUTING.md asks for before each commit
	git config core.hooksPath .ci/hooks

release: ## check everything and tag every module: make release VERSION=v0.1.0
	.ci/release make $(VERSION)

interop: ## run the tests with net/http, fasthttp, Redis, PostgreSQL and MariaDB clients
	.ci/run interop

arm64: ## build for other platforms, and run for arm64 what qemu-aarch64 can
	.ci/run platforms arm64

LENGTH ?= 2m

soak: ## run examples/daemon under a load that checks every byte: make soak LENGTH=10m
	go run ./examples/daemon/soak -length $(LENGTH)

check: ## all steps of .ci/run
	.ci/run
