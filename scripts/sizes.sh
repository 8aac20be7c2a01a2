#!/usr/bin/env bash
# Prints how long podwork takes to start and to show a long log, and what an open pod costs in
# memory. Medians of eleven runs; nothing is asserted, since a busy machine proves nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet
podwork=$PWD/target/release/podwork
work=$(mktemp -d)
trap 'kill "${holder:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
export PODWORK_STORE=$work/store.redb

median_ms() { # command...
    for _ in $(seq 11); do
        local from to
        from=$(date +%s%N)
        "$@" >/dev/null
        to=$(date +%s%N)
        echo $(((to - from) / 10000))
    done | sort -n | sed -n 6p | awk '{ printf "%.2f ms", $1 / 100 }'
}

events=10000
awk -v events="$events" 'BEGIN {
    head = "{\"pod\":\"01900000-0000-7000-8000-000000000001\",\"at\":\"2026-01-02T03:04:05.000000Z\",\"seq\":"
    print head "1,\"type\":\"pod_opened\",\"name\":\"long\",\"spec\":{\"model\":\"script:none\"}}"
    for (seq = 2; seq <= events; seq++)
        print head seq ",\"type\":\"notified\",\"source\":\"bench\",\"text\":\"event " seq " says a few words to fill the line\"}"
}' >"$work/long.jsonl"
"$podwork" import "$work/long.jsonl" >/dev/null

echo "podwork --version:             $(median_ms "$podwork" --version)"
echo "log of $events events, cold:    $(median_ms "$podwork" log long --json)"

echo '{"text":"done","wait_ms":600000}' >"$work/slow.jsonl"
"$podwork" run --model "script:$work/slow.jsonl" "wait" >/dev/null 2>&1 &
holder=$!
until [ -S "$PODWORK_STORE.sock" ] && "$podwork" pods --json 2>/dev/null | grep -q running; do :; done
echo "memory with one open pod:      $(awk '/VmRSS/ { printf "%.1f MB", $2 / 1024 }' "/proc/$holder/status")"
