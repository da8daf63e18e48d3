#!/bin/sh
# bench/before.sh COMMIT [ROUNDS [TIME]]: the examples of COMMIT beside those of
# the working tree, in alternating rounds; the server on one core, the generator
# on another.
set -eu
commit=$1 rounds=${2:-9} time=${3:-1500ms}
address=127.0.0.1:18700
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'git worktree remove --force "$bin/tree"; rm -rf "$bin"' EXIT
git worktree add -q --detach "$bin/tree" "$commit"

build() { # name, tree
	for e in echo redis; do (cd "$2" && go build -o "$bin/$e-$1" "./examples/$e"); done
	(cd "$2/examples/http" && go build -o "$bin/http-$1" "$([ -d engines ] && echo ./engines || echo .)")
}
build before "$bin/tree"
build after .
go build -o "$bin/netco-bench" ./cmd/netco-bench

compare() { # example, url, flags
	example=$1 url=$2
	shift 2
	echo "== $example $*"
	taskset -c 1 "$bin/netco-bench" compare -q -d "$time" -warmup 500ms -rounds "$rounds" \
		-side "before=$(server "$example-before")" -side "after=$(server "$example-after")" \
		"$url" "$@"
}
server() { echo "env GOMAXPROCS=1 taskset -c 0 $bin/$1 -addr $address -processors 1"; }

compare redis "redis://$address" -c 50 -pipeline 16
compare http "http://$address/" -c 64
for c in 1 64 1000; do compare echo "tcp://$address" -c "$c"; done
