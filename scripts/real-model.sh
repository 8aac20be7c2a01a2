#!/usr/bin/env bash
# Runs podwork against a real model server that is already running on loopback, in both dialects:
# plain text, a call that reads a file, a chain of two calls, and a context that is too long.
#
#   MODEL_URL=http://127.0.0.1:18080 MODEL_NAME=qwen1.5b scripts/real-model.sh
#
# Any OpenAI- and Anthropic-compatible server will do. WINDOW is the size of its context in tokens.
set -euo pipefail
cd "$(dirname "$0")/.."
url=${MODEL_URL:-http://127.0.0.1:18080} name=${MODEL_NAME:-qwen1.5b} window=${WINDOW:-2048}
export OPENAI_BASE_URL=$url/v1 ANTHROPIC_BASE_URL=$url OPENAI_API_KEY=none ANTHROPIC_API_KEY=none
cargo build --release --quiet
podwork=$PWD/target/release/podwork
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PODWORK_STORE=$work/store.redb
cd "$work"
echo "The password of the lighthouse is 'plover'." > note.txt
echo "note.txt" > where.txt

# A small model does not always do what it is told: it gets ten tries at each. What counts is what
# the log says: how the turn ended, and how many calls ran and succeeded.
check() { # title, expected exit code, calls at least, command...
    local title=$1 expected=$2 calls=$3 try code ran
    shift 3
    printf '\n--- %s\n' "$title"
    for try in $(seq 10); do
        code=0
        "$@" || code=$?
        ran=$("$podwork" log --last --json | grep -c '"type":"call_ended".*"outcome":"ok"' || true)
        if [ "$code" -eq "$expected" ] && [ "$ran" -ge "$calls" ]; then
            return
        fi
        echo "try $try: exit code $code instead of $expected, or $ran calls instead of $calls"
    done
    exit 1
}

for dialect in openai anthropic; do
    model=$dialect:$name
    run=("$podwork" run --model "$model" --window "$window" --tools read_file)
    check "$dialect: plain text" 0 0 "${run[@]}" "Say hello in five words. Do not call any tool."
    check "$dialect: a call" 0 1 "${run[@]}" "Read the file note.txt with the tool and tell me the password in it."
    "$podwork" context --last --request 2 --verify
    check "$dialect: two calls" 0 2 "${run[@]}" --max-requests 6 \
        "First call read_file with the path where.txt. Its content is the name of another file. When you have it, call \
read_file with that name as the path. Then tell me the password in that file."
    long=$(printf 'The quick brown fox jumps over the lazy dog. %.0s' $(seq 1 400))
    check "$dialect: a context that is too long pauses the pod" 3 0 "${run[@]}" "Summarise this: $long"
done
echo "all as it should be"
