#!/usr/bin/env bash
# Measures anew all figures of the README and of docs, on the commit that is checked out: text into docs/bench, and JSON with
# every round of echo and proxy into bench/report, which git ignores. On an idle machine.
#
#	bench/all.sh [name ...]     of the files in docs/bench, without their ending; all by default
#	DRY=1 bench/all.sh          only prints the commands
#	BEFORE=commit bench/all.sh  also the examples of that commit beside those of this one
#
# What needs a program that is not installed (wrk, redis-server) is left out with a message, and its file stays as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=docs/bench report=bench/report wanted=" $* " failed=()

mkdir -p $report

# measure NAME COMMAND writes the command, the machine and what the command prints to docs/bench/NAME.txt.
measure() {
	local name=$1 text
	shift
	[[ $wanted == "  " || $wanted == *" $name "* ]] || return 0
	echo "$name: $*"
	[[ -z ${DRY-} ]] || return 0
	text=$(mktemp)
	if {
		printf '$ %s\n# %s, %s %s, %s, %d CPUs, %s, commit %s; load average %s\n\n' "$*" "$(date -u +%F)" "$(uname -s)" "$(uname -r)" \
			"$(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)" "$(go env GOVERSION)" \
			"$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" "$(cut -d' ' -f1-3 /proc/loadavg)"
		"$@" 2>/dev/null
	} >"$text"; then
		cp "$text" "$out/$name.txt"
	else
		failed+=("$name")
	fi
	rm -f "$text"
}

# needs PROGRAM... says which of them is not there.
needs() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || { echo "left out: $program is not installed"; return 1; }
	done
}

bench() {
	local name=$1
	shift
	measure "$name" go run ./cmd/netco-bench "$@"
}

bench switch switch
bench echo-one-core echo -pin -procs 1 -conns 64,1000,5000 -servers net,c,netco -d 2s -rounds 5 -json $report/echo-one-core.json
bench echo-two-cores-1 echo -conns 1 -json $report/echo-two-cores-1.json
bench echo-two-cores-64 echo -json $report/echo-two-cores-64.json
measure busy bench/busy.sh 8 go run ./cmd/netco-bench echo -conns 1,64 -rounds 3 -d 3s
measure quota bench/quota.sh 0.2 go run ./cmd/netco-bench echo -conns 64 -rate 2000 -rounds 3
bench closed-loop echo -conns 1,8,64 -rounds 5 -d 3s
bench partial-load echo -conns 64 -rate 10k,30k -rounds 5 -d 3s
measure work bench/work.sh 7 2s
bench goroutines echo -conns 1,200 -servers net,netco-goroutines,net-deadlines,netco-goroutines-deadlines -d 1s -warmup 300ms -rounds 9
bench conns conns
bench hold hold
bench idle idle
bench sleepers sleepers -sleep 15s
bench fair fair -pin
bench fair-unix fair -pin -firehose unix
bench fair-pipeline fair -pin -pipeline 1us,5us,20us -duration 600ms -rounds 3
bench proxy proxy -pin -procs 1 -json $report/proxy.json
measure profile go test -run '^$' -bench . -count 5 ./profile
measure timer go test -run '^$' -bench SetCancel -count 5 ./timer
measure waiting bench/waiting.sh 7 100ms
measure watched bench/watched.sh 18 2s
measure tls bench/tls.sh 6 3s
! needs wrk || measure http bench/http.sh 11 3
measure generator bench/generator.sh 11 3
! needs redis-server redis-benchmark || measure redis bench/redis.sh 5 1000000
measure soak go run ./examples/daemon/soak -length 10m
[[ -z ${BEFORE-} ]] || measure before bench/before.sh "$BEFORE"
if [[ $wanted == "  " || $wanted == *" peers "* ]]; then
	echo "peers: bench/peers.sh"
	[[ -n ${DRY-} ]] || bench/peers.sh || failed+=(peers)
fi
((${#failed[@]} == 0)) || { echo "not measured: ${failed[*]}" >&2; exit 1; }
