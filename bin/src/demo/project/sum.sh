#!/bin/sh
# Adds the numbers that it is given: sum.sh 1 2 3 prints 6.
total=0
while [ $# -gt 1 ]; do
    total=$((total + $1))
    shift
done
echo "$total"
