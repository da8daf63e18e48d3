#!/usr/bin/env bash
# Alternating rounds of redis-benchmark against examples/redis and redis-server, each server alone on core 0, the load on core 1.
#
#	bench/redis.sh [rounds] [requests per test]     environment: KEYS (-r), PIPE (-P), CONNS (-c)
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-5} requests=${2:-1000000} keys=${KEYS:-100000} pipe=${PIPE:-16} conns=${CONNS:-50}
ours_port=7791 theirs_port=7792 out=$(mktemp -d)
go build -o "$out/server" ./examples/redis
GOMAXPROCS=1 taskset -c 0 "$out/server" -addr 127.0.0.1:$ours_port -processors 1 >/dev/null &
ours=$!
taskset -c 0 redis-server --port $theirs_port --bind 127.0.0.1 --save "" --appendonly no --dir "$out" >/dev/null &
theirs=$!
trap 'kill $ours $theirs 2>/dev/null; wait 2>/dev/null; rm -rf "$out"' EXIT
for port in $ours_port $theirs_port; do
	until redis-cli -p $port ping >/dev/null 2>&1; do sleep 0.1; done
done

ticks() { awk '{print $14+$15}' "/proc/$1/stat"; } # of 10 ms

# measure runs one test against one server and prints: server, keys, test, req/s, CPU µs per request, CPU % of generator and of server.
measure() {
	local who=$1 port=$2 pid=$3 kind=$4 test=$5 random=() before after start line rate busy
	[[ $kind == many ]] && random=(-r "$keys")
	before=$(ticks "$pid") start=$(date +%s%N)
	line=$({ time -p taskset -c 1 redis-benchmark -h 127.0.0.1 -p "$port" -P "$pipe" -c "$conns" -n "$requests" -t "$test" \
		"${random[@]}" --csv; } 2>"$out/time" | tail -1)
	after=$(ticks "$pid")
	rate=$(cut -d, -f2 <<<"$line" | tr -d '"')
	busy=$(awk '/^user|^sys/{s+=$2} /^real/{r=$2} END{printf "%.0f", 100*s/r}' "$out/time")
	awk -v who="$who" -v kind="$kind" -v test="$test" -v rate="$rate" -v used=$((after - before)) -v n="$requests" -v busy="$busy" \
		-v ns=$(($(date +%s%N) - start)) \
		'BEGIN{printf "%-6s %-4s %-3s %9.0f %6.3f %4d %4d\n", who, kind, test, rate, used*10000/n, busy, used*1e9/ns}' | tee -a "$out/all"
}

for ((round = 1; round <= rounds; round++)); do
	order=("netco $ours_port $ours" "redis $theirs_port $theirs")
	((round % 2)) || order=("${order[1]}" "${order[0]}")
	for server in "${order[@]}"; do
		for kind in one many; do
			for test in set get; do
				# shellcheck disable=SC2086
				measure $server $kind $test
			done
		done
	done
done
echo
echo "medians of $rounds rounds: -P $pipe -c $conns -n $requests; one key, or many by -r $keys"
echo "server keys test    req/s  server CPU µs/req  generator CPU %  server CPU %"
for kind in one many; do
	for test in set get; do
		for who in netco redis; do
			awk -v w=$who -v k=$kind -v t=$test '$1==w && $2==k && $3==t {print $4, $5, $6, $7}' "$out/all" | awk '
				{for (i = 1; i <= 4; i++) a[i, NR] = $i}
				function med(c,  i, j, v, x) {
					for (i = 1; i <= NR; i++) x[i] = a[c, i]
					for (i = 2; i <= NR; i++) { v = x[i]; for (j = i-1; j > 0 && x[j] > v; j--) x[j+1] = x[j]; x[j+1] = v }
					return NR % 2 ? x[(NR+1)/2] : (x[NR/2] + x[NR/2+1]) / 2
				}
				END {printf "%-6s %-4s %-3s %9.0f %14.3f %16.0f %14.0f\n", "'$who'", "'$kind'", "'$test'", med(1), med(2), med(3), med(4)}'
		done
	done
done
