# Sourced by `.ci/quick`, `.ci/run` and `.ci/full`: the steps that these scripts are made of.
# Every step installs what it needs below the target folder, or with apt-get where a program must be the system's, and
# fails where its tests were skipped.

# A shell that starts a script in the background may ignore interruptions, and then all that the script starts ignores them too.
[ -n "${SIGNALS_ARE_DEFAULT:-}" ] || SIGNALS_ARE_DEFAULT=1 exec env --default-signal "$0" "$@"
# Incremental files speed up a second build of the same checkout; where there is none they only fill the disk.
export CI=true CARGO_TERM_COLOR=never CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
exec </dev/null

target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
here=$PWD/.ci
summary=()

# step NAME COMMAND...: runs it, and remembers how long it took.
step() {
    local name=$1 started=$SECONDS
    shift
    printf '\n=== %s\n' "$name"
    "$@"
    summary+=("$(printf '%5d s  %s' $((SECONDS - started)) "$name")")
}

# The last words of a script: what ran, and for how long.
finished() {
    printf '\n=== all of it passed; nothing was skipped\n'
    printf '%s\n' "${summary[@]}"
    printf '%5d s  in all\n' "$SECONDS"
}

# packages PROGRAM NAME...: installs the Debian packages where the program is missing.
packages() {
    local program=$1
    shift
    command -v "$program" >/dev/null && return 0
    [ "$(id -u)" = 0 ] || { echo "there is no $program; install the packages: $*" >&2; return 1; }
    install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null; }
    install "$@" || { apt-get update -qq && install "$@"; }
}

# ran NAME COMMAND...: runs tests, and fails where they skipped themselves or none ran.
ran() {
    local out=$target/$1.out
    shift
    "$@" 2>&1 | tee "$out"
    if grep -q '^skipped' "$out" || ! grep -qE 'test result: ok\. [1-9]' "$out"; then
        echo "tests were skipped; the lines above say which and why" >&2
        return 1
    fi
}

# A full disk shows as a compiler that fails somewhere; better said before.
disk() {
    local free
    free=$(df --output=avail -BG "$target" | tail -1 | tr -dc 0-9)
    echo "$free GB are free for $target"
    [ "$free" -ge 12 ] || { echo "all of it needs 12 GB free" >&2; return 1; }
}

# The packages that stand beside the workspace have lock files of their own, which follow its manifests.
locks() {
    local package
    for package in fuzz benches benches/peers; do
        cargo metadata --locked --format-version 1 --manifest-path "$package/Cargo.toml" >/dev/null
    done
}

lints() {
    cargo clippy --locked --all-targets -- -D warnings
}

# The packages that stand beside the workspace use its crates, so a change here may break them. What they share with it is not
# built again.
beside() {
    local package
    for package in fuzz benches benches/peers; do
        cargo fmt --check --manifest-path "$package/Cargo.toml"
        cargo clippy --locked --all-targets --all-features --manifest-path "$package/Cargo.toml" --target-dir "$target" -- -D warnings
    done
}

feature_sets() {
    cargo test --locked -p toolfence --no-default-features
    local features
    for features in "" patch policy session tools agent backend-http pipe proxy http cli; do
        cargo clippy --locked -p toolfence --all-targets --no-default-features --features "$features" -- -D warnings
    done
}

documentation() {
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --all-features
}

# One of the ways to set up the sandbox, which tests take where it is there.
bubblewrap() {
    packages bwrap bubblewrap
}

# The shells that `coder completions` writes scripts for, beside bash.
shells() {
    packages zsh zsh
    packages fish fish
}

# The programs of Python that tests need, in the versions of `.ci/requirements.txt`.
python_programs() {
    packages python3 python3 python3-venv
    [ -x "$target/venv/bin/python3" ] || python3 -m venv "$target/venv"
    "$target/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
}

# The tests that the authors of JSON Schema publish, out of the sources of a package that carries them.
schema_suite() {
    local folder=$target/schema-suite version=4.26.0
    python_programs
    if [ ! -d "$folder/jsonschema-$version/json/tests" ]; then
        "$target/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$folder" \
            "jsonschema==$version"
        tar -xf "$folder/jsonschema-$version.tar.gz" -C "$folder"
    fi
    TOOLFENCE_SCHEMA_SUITE=$folder/jsonschema-$version/json \
        ran schema-suite cargo test --locked -p toolfence-protocol --lib schema::suite -- --nocapture
}

live() {
    python_programs
    PATH="$target/venv/bin:$PATH" TOOLFENCE_LIVE_LLAMA="$here/tiny_llama.py" \
        ran live cargo test --locked --test server live:: -- --nocapture
}

page() {
    local folder=$target/axe
    packages chromium chromium
    [ -d "$folder/node_modules/axe-core" ] || npm install --silent --no-audit --no-fund --prefix "$folder" axe-core@4.14.1
    AXE=$folder/node_modules/axe-core/axe.min.js .ci/page.mjs "$target/debug/coder"
}

# The description of the HTTP API by a validator, and by a client that a generator makes from it; the counters by a parser of Prometheus.
api() {
    python_programs
    cargo build --quiet --locked --bin coder
    "$target/venv/bin/python3" .ci/openapi.py "$target/debug/coder"
}

clients() {
    python_programs
    .ci/clients
}

# Official servers of MCP behind `coder`. They are installed as a person would, so that the sandbox shows them.
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

# The folder of a gofmt: the one that is installed, or else the one program out of Debian's package, which takes no root.
go_folder() {
    local folder=$target/go package
    if ! command -v gofmt >/dev/null && [ ! -x "$folder/bin/gofmt" ]; then
        package=$(apt-cache depends golang-go | sed -n 's/^ *Depends: \(golang-[0-9.]*-go\)$/\1/p')
        [ -n "$package" ] || { echo "there is no gofmt, and no package golang-go that has one" >&2; return 1; }
        rm -rf "$folder"
        mkdir -p "$folder/bin"
        (cd "$folder" && apt-get download --quiet=2 "$package" && dpkg-deb --fsys-tarfile "$package"_*.deb \
            | tar --extract --to-stdout --wildcards './usr/lib/go-*/bin/gofmt' >bin/gofmt && rm "$package"_*.deb)
        chmod 755 "$folder/bin/gofmt"
    fi
    dirname "$(PATH=$PATH:$folder/bin command -v gofmt)"
}

# The types of a changed file, with the real tsc; and what else checks files must be here.
checkers() {
    local folder=$target/typescript go
    mkdir -p "$folder"
    [ -x "$folder/bin/tsc" ] ||
        npm install --silent --no-audit --no-fund --global --prefix "$folder" typescript@7.0.2
    go=$(go_folder)
    PATH="$PATH:$go" TOOLFENCE_TSC="$folder/bin" ran checkers cargo test --locked --test files sandbox::checks -- --nocapture
}

# What the policy takes for reading in sed, awk, jq and yq, run for real by every implementation that Debian has.
# languages SCRIPTS: so many of each language.
languages() {
    local program
    for program in gawk mawk original-awk busybox jq gojq yq; do packages "$program" "$program"; done
    LANGUAGE_SCRIPTS=$1 ran languages cargo test --locked -p toolfence-policy --test policy languages:: -- --nocapture
}

# What git on the host would run: every trap, with every end of a command, as root and as an ordinary user.
traps() {
    TOOLFENCE_TRAPS=1 ran traps \
        cargo test --locked --test files -- sandbox::traps an_ordinary_user_falls --nocapture --test-threads=1
}

races() {
    TOOLFENCE_RACE_TRIES=100000 cargo test --locked --test files very_many_tries -- --ignored --nocapture
}

demo() {
    cargo run --locked -- demo
}
