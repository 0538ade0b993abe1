# Small statistics for whole numbers, one number an argument.

# The numbers in order, one a line.
sorted() {
    local ordered=() number at
    for number in "$@"; do
        at=${#ordered[@]}
        while ((at > 0 && ordered[at - 1] > number)); do
            ordered[at]=${ordered[at - 1]}
            at=$((at - 1))
        done
        ordered[at]=$number
    done
    printf '%s\n' "${ordered[@]}"
}

# The sum of all numbers.
sum() {
    local total=0 number
    for number in "$@"; do
        total=$((total + number))
    done
    echo "$total"
}

# The number in the middle; for an even count the mean of the two in the middle, rounded down.
median() {
    local numbers
    mapfile -t numbers < <(sorted "$@")
    echo "${numbers[$(($# / 2))]}"
}
