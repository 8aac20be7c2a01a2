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

# A small model does not always do what it is told: it gets three tries at each.
check() { # title, expected exit code, words in the output, command...
    local title=$1 expected=$2 words=$3 output code
    shift 3
    printf '\n--- %s\n' "$title"
    for try in 1 2 3; do
        code=0
        output=$("$@" 2>&1) || code=$?
        if [ "$code" -eq "$expected" ] && grep -q "$words" <<<"$output"; then
            echo "$output" | tail -n 3
            return
        fi
        echo "try $try: exit code $code instead of $expected, or no \"$words\" in: $(tail -n 2 <<<"$output")"
    done
    exit 1
}

for dialect in openai anthropic; do
    model=$dialect:$name
    run=("$podwork" run --model "$model" --window "$window" --tools read_file)
    check "$dialect: plain text" 0 "" "${run[@]}" "Say hello in five words. Do not call any tool."
    check "$dialect: a call" 0 plover "${run[@]}" "Read the file note.txt with the tool and tell me the password in it."
    "$podwork" context --last --request 2 --verify
    check "$dialect: two calls" 0 plover "${run[@]}" --max-requests 6 \
        "First call read_file with the path where.txt. Its content is the name of another file. When you have it, call \
read_file with that name as the path. Then tell me the password in that file."
    long=$(printf 'The quick brown fox jumps over the lazy dog. %.0s' $(seq 1 400))
    check "$dialect: a context that is too long pauses the pod" 3 "too long" "${run[@]}" "Summarise this: $long"
done
echo "all as it should be"
