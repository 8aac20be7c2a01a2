#!/bin/sh
# The tests of sum.sh. With --patient they take their time, as real ones do.
cd "$(dirname "$0")" || exit 2
failed=0

check() {
    expected=$1
    shift
    found=$(sh sum.sh "$@")
    if [ "$found" = "$expected" ]; then
        echo "ok    sum.sh $* is $expected"
    else
        echo "FAIL  sum.sh $* is $found, expected $expected"
        failed=1
    fi
}

if [ "$1" = --patient ]; then
    echo "warming up ..."
    : > .tests-are-running
    sleep 30
    rm .tests-are-running
fi

check 0
check 5 5
check 6 1 2 3
check 0 -4 4
exit "$failed"
