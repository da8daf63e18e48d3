#!/usr/bin/env bash
# netco beside its peers: every server of bench/peers in alternating rounds under netco-bench. Writes
# peers.md to docs/bench, and peers.json to bench/report, which git ignores; both to OUT if that is set.
#
#	bench/peers.sh [workload ...]     of: echo pipelined tls http json fanout; all by default
#
# Environment: CONNS, ROUNDS, TIME of a round, WARMUP before it, SHARES of net's capacity for the open loops, CORES (one, all), OUT.
# With the defaults that is some 20 hours; bench/peers.sh takes less with fewer or shorter ones:
#
#	CONNS="64 1000" TIME=2s SHARES=50 CORES=one bench/peers.sh echo
#	ROUNDS=3 TIME=500ms WARMUP=200ms bench/peers.sh     40 minutes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
conns=${CONNS:-1 64 1000 5000} rounds=${ROUNDS:-6} time=${TIME:-3s} warmup=${WARMUP:-500ms} shares=${SHARES-20 50 80} cores=${CORES:-one all} out=${OUT:-bench/report}
host=127.0.0.1 port=18400
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -n "$(ulimit -Hn)"
go build -o "$work/netco-bench" ./cmd/netco-bench
(cd bench && go build -o "$work/peers" ./peers)
if command -v cc >/dev/null; then
	cc -O2 -o "$work/floor" cmd/netco-bench/floor/echo.c
else
	echo "no C compiler: the echo servers are measured without the C floor" >&2
fi

# What each workload loads: its servers, the baseline first; the URL's scheme and path; more flags of load.
declare -A servers=(
	[echo]="net netco netco-server netpoll" [pipelined]="net netco netco-server netpoll"
	[tls]="net netco netco-server" [fanout]="net netco"
	[http]="nethttp nethttp-netco fasthttp fasthttp-netco hertz" [json]="nethttp nethttp-netco fasthttp fasthttp-netco hertz"
)
declare -A scheme=([echo]=tcp [pipelined]=tcp [tls]=tls [fanout]=tcp [http]=http [json]=http)
declare -A path=([echo]= [pipelined]= [tls]= [fanout]= [http]=/ [json]=/json)
declare -A flags=([echo]= [pipelined]="-pipeline 16" [tls]=-insecure [fanout]= [http]= [json]=)
declare -A program=([echo]=echo [pipelined]=echo [tls]=tls [fanout]=fanout [http]=http [json]=http)

# compare WORKLOAD CONNECTIONS CORES [flags] measures all servers of a workload, and prints the table.
compare() {
	local workload=$1 c=$2 on=$3 pin="" load=() sides=() name
	shift 3
	load=("$work/netco-bench")
	if [[ $on == one ]]; then
		pin="env GOMAXPROCS=1 taskset -c 0 "
		load=(taskset -c 1 "$work/netco-bench")
	fi
	for name in ${servers[$workload]}; do
		sides+=(-side "$name=$pin$work/peers ${program[$workload]} $name $host:$port")
	done
	if [[ ${program[$workload]} == echo && -x $work/floor ]]; then
		sides+=(-side "c=$pin$work/floor $host 65536 $port")
	fi
	count=$((count + 1))
	file=$(printf '%s/%03d.json' "$work" "$count")
	local title="$workload, $c connections, $on core(s)"
	[[ $# == 0 ]] || title+=", $2 requests/s (open loop)"
	# shellcheck disable=SC2086 # flags are words
	"${load[@]}" compare "${sides[@]}" "${scheme[$workload]}://$host:$port${path[$workload]}" -c "$c" -d "$time" -warmup "$warmup" \
		-rounds "$rounds" -q -title "$title" -json "$file" ${flags[$workload]} "$@" | tee "$work/table"
}

count=0
for workload in "${@:-echo pipelined tls http json fanout}"; do
	for workload in $workload; do
		for on in $cores; do
			for c in $conns; do
				echo "== $workload, $c connections, $on core(s)"
				compare "$workload" "$c" "$on" || echo "$workload, $c connections: not finished" >&2
				capacity=$(awk '$1 == "requests/s" { gsub(",", "", $3); print $3; exit }' "$work/table")
				[[ $workload != pipelined && -n $capacity ]] || continue # an open loop has in flight what it must
				for share in $shares; do
					compare "$workload" "$c" "$on" -rate "$(awk "BEGIN { printf \"%d\", $capacity * $share / 100 }")" ||
						echo "$workload, $c connections, $share %: not finished" >&2
				done
			done
		done
	done
done
# A comparison that was not finished has left no file, or one with the rounds until then.
shopt -s nullglob
files=("$work"/*.json)
((${#files[@]})) || { echo "nothing was measured" >&2; exit 1; }
mkdir -p "$out"
"$work/netco-bench" merge "${files[@]}" -o "$out/peers.json"
"$work/netco-bench" report "$out/peers.json" -title "netco and its peers" -o "${OUT:-docs/bench}/peers.md"
