# Run with: bash test.sh
. ./stats.sh
failed=0

check() {
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: wanted $3, got $2"
        failed=1
    fi
}

check "sum" "$(sum 1 2 3)" 6
check "sum of nothing" "$(sum)" 0
check "median of an odd count" "$(median 9 1 5)" 5
check "median of an even count" "$(median 10 4 1 8)" 6
check "median of one" "$(median 7)" 7
exit "$failed"
