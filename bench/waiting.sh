#!/usr/bin/env bash
# Alternating rounds of the benchmarks of coroutines by hand, channels, locks and timers, each beside its peer of Go's. Prints the
# median and the least ns of each.
#
#	bench/waiting.sh [rounds] [time per benchmark]
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-9} time=${2:-100ms} out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
packages=(coroutine channel sync .)
wanted='Generator|Create|PingPong|Buffered|Select|Mutex$|MutexContended|Lock$|RLock$|Contended|Timers'
for p in "${packages[@]}"; do
	go test -c -o "$out/${p/./root}" "./$p"
done
echo "# bench/waiting.sh $rounds $time"
echo "# $(date -u +%F), $(uname -sr), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores, $(go version | cut -d' ' -f3)"
for _ in $(seq "$rounds"); do
	for p in "${packages[@]}"; do
		(cd "$p" && "$out/${p/./root}" -test.run '^$' -test.bench "$wanted" -test.benchtime "$time" | sed -n "s#^Benchmark#$p Benchmark#p")
	done
done | sort -k1,2 -k4,4g | awk '
	function flush() {
		if (n == 0) return
		m = n
		printf "%-62s %10.2f %10.2f\n", name, v[int((m+1)/2)], v[1]
	}
	{ key = $1 " " $2; if (key != name) { flush(); n = 0; name = key } v[++n] = $4 }
	BEGIN { printf "%-62s %10s %10s\n", "benchmark", "median ns", "least" }
	END { flush() }'
