#!/usr/bin/env bash
# PageRank on the computers of a list, by ssh. The program, the key and the input lie at the same
# place on all of them (a shared file system, or copies); `peers` has a line HOST:PORT for each.
#   welter cluster init ~/key && ./ssh.sh peers run pagerank ~/big.mtx -o ~/ranks.parquet
set -euo pipefail
peers=$1
shift
mapfile -t hosts < <(sed 's/:[0-9]*$//' "$peers")
list=$(realpath "$peers")
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
for rank in "${!hosts[@]}"; do
    command=$(printf '%q ' welter "$@" --cluster "static:$list" --rank "$rank" --credentials "$HOME/key")
    # `-tt`: a command ends when its connection does.
    ssh -tt -o BatchMode=yes "${hosts[$rank]}" "$command" </dev/null &
done
code=0
for job in $(jobs -p); do wait "$job" || code=$?; done
exit "$code"
