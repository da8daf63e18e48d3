#!/usr/bin/env bash
# A command beside busy loops.
#
#	bench/busy.sh LOOPS COMMAND...
set -euo pipefail
loops=$1
shift
trap 'kill $(jobs -p)' EXIT
for ((i = 0; i < loops; i++)); do
	(while kill -0 $$ 2>/dev/null; do :; done) &
done
"$@"
