#!/usr/bin/env bash
# Echo with handlers that compute: netco beside net, 64 connections, open loop with random arrivals, the defaults.
#
#	bench/work.sh [rounds [time]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin" ./cmd/netco-bench
for cell in 40us:8k,12k,16k,20k 100us:6k,8k,12k 400us:1500,3k 5us,2ms:0.05:8500; do
	"$bin/netco-bench" echo -work "${cell%:*}" -rate "${cell##*:}" -arrival poisson -rounds "${1:-7}" -d "${2:-2s}"
done
