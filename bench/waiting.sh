#!/usr/bin/env bash
# Alternating rounds of the benchmarks of coroutines by hand, channels, locks and timers, each beside its peer of Go's. Prints the
# median and the least ns of each.
#
#	bench/waiting.sh [rounds] [time per benchmark]
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
rounds=${1:-9} time=${2:-100ms} bin=$(mktemp)
trap 'rm -f "$bin"' EXIT
go test -c -o "$bin" ./waiting
echo "# bench/waiting.sh $rounds $time"
echo "# $(date -u +%F), $(uname -sr), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores, $(go version | cut -d' ' -f3)"
for _ in $(seq "$rounds"); do
	"$bin" -test.run '^$' -test.bench . -test.benchtime "$time" | grep ^Benchmark
done | sort -k1,1 -k3,3g | awk '
	function flush() {
		if (n == 0) return
		m = n
		printf "%-62s %10.2f %10.2f\n", name, v[int((m+1)/2)], v[1]
	}
	{ if ($1 != name) { flush(); n = 0; name = $1 } v[++n] = $3 }
	BEGIN { printf "%-62s %10s %10s\n", "benchmark", "median ns", "least" }
	END { flush() }'
